import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NetworkPolicy } from '@skerry/runtime';
import type { NodeDescription } from '@skerry/runtime/node';
import { afterEach, beforeEach } from 'vitest';
import { type ControlPlane, createControlPlane } from '../../control-plane/control-plane.ts';
import { createRandomIds } from '../../ids.ts';
import { defaultLimits, type Limits } from '../../limits.ts';
import { createNewWork } from '../../new-work.ts';
import { createStore } from '../../store/sqlite.ts';
import type { Store } from '../../store/store.ts';
import { createFaultyRuntime, type FaultyRuntime } from '../../testing/faulty-runtime.ts';
import { createManualClock } from '../../testing/manual-clock.ts';
import { createRecordingLog, type LogLine } from '../../testing/recording-log.ts';
import { createFleet, type Fleet } from '../fleet.ts';
import type { ConnectNode } from '../member.ts';
import type { Membership } from '../membership/membership.ts';
import { createStaticMembership } from '../membership/static.ts';

import { type CopiesInMemory, createCopiesInMemory } from './copies-in-memory.ts';
import { createImagesInMemory } from './images-in-memory.ts';

const template = { id: 't1', project: 'local', name: 'base', kind: 'image' as const, public: false };
const size = { createdAt: 0, cpuCount: 1, memoryMb: 128, diskMb: 1 };
export const deadMs = 60_000;

/** A node whose link a test puts up and down. */
export interface TestNode {
  runtime: FaultyRuntime;
  epoch: number;
  /** Where it was claimed last. */
  address: string;
  /** Makes the node answer, and report this amount of used memory. */
  up(usedMemoryBytes?: number): void;
  down(reason?: Error): void;
}

/** A server over a real store and nodes of this process. */
export interface TestFleet {
  store: Store;
  manual: ReturnType<typeof createManualClock>;
  hosts: Fleet;
  plane: ControlPlane;
  /** What the server has logged since its start. */
  lines: readonly LogLine[];
  /** The blob store of all nodes. */
  copies: CopiesInMemory;
  /** Starts a server on the existing state, with these nodes up; the names are the list of nodes unless there is another membership. */
  start(names: readonly string[], up?: readonly string[], membership?: Membership): Promise<void>;
  stop(): Promise<void>;
  at(name: string): TestNode;
  create(more?: { snapshot?: string; network?: NetworkPolicy }): Promise<string>;
  nodeOf(id: string): Promise<string | null | undefined>;
  stateOf(id: string): Promise<string | undefined>;
  states(): Promise<Record<string, string>>;
}

const description: NodeDescription = {
  version: '1',
  base: { rootfs: '/', digest: 'sha256:1' },
  templatesFolder: '/templates',
  room: { sandboxes: 2, memoryBytes: 2 ** 30, cpuCount: 1 },
  usedMemoryBytes: 0,
};

const toList = (names: readonly string[]): Membership =>
  createStaticMembership(names.map((name) => ({ name, address: `${name}:1` })));

/** Gives each test of the file a fleet on fresh storage; with a blob store if that is wanted. */
export const useFleet = ({
  hasCopies = false,
  limits = {},
}: {
  hasCopies?: boolean;
  limits?: Partial<Limits>;
} = {}): TestFleet => {
  let folder: string;
  let world: Record<string, TestNode>;
  const runtimes = new Map<string, FaultyRuntime>();

  const runtimeOf = (name: string): FaultyRuntime => {
    const pause = { memory: true, filesystem: true };
    const runtime = runtimes.get(name) ?? createFaultyRuntime({ dataDir: join(folder, name), pause });
    runtimes.set(name, runtime);
    return runtime;
  };

  const fleet: TestFleet = {
    // Set before each test.
    ...({} as Pick<TestFleet, 'store' | 'manual' | 'hosts' | 'plane' | 'lines' | 'copies'>),
    start: async (names, up = names, membership = toList(names)) => {
      world = {};
      const { log, lines } = createRecordingLog();
      fleet.lines = lines;
      const connect: ConnectNode = ({ name, address, epoch }, { onAnswer, onFailure }) => {
        const runtime = runtimeOf(name);
        const node: TestNode = {
          runtime,
          epoch,
          address,
          up: (usedMemoryBytes = 0) => onAnswer({ ...description, usedMemoryBytes }),
          down: (reason = new Error('cut')) => onFailure(reason),
        };
        world[name] = node;
        queueMicrotask(() => (up.includes(name) ? node.up() : node.down()));
        const images = createImagesInMemory(join(folder, name), new Map());
        const snapshots = hasCopies ? fleet.copies.of(name, runtime) : undefined;
        return { runtime, images, snapshots, close: async () => {} };
      };
      const { store } = fleet;
      const { clock } = fleet.manual;
      const blobs = hasCopies ? fleet.copies.blobs : undefined;
      fleet.hosts = createFleet({ membership, connect, store, clock, log, deadMs, blobs });
      const { hosts } = fleet;
      fleet.plane = createControlPlane({
        newWork: createNewWork(),
        ...{
          store,
          hosts,
          clock,
          log,
          secret: 'secret',
          limits: { ...defaultLimits, ...limits },
        },
        images: { base: hosts.images.base },
        ids: createRandomIds(),
      });
      await fleet.plane.start({ ...template, ...size });
      const { plane } = fleet;
      await hosts.start(plane.nodeEvents);
    },
    stop: async () => {
      await fleet.plane.close();
      await fleet.hosts.close();
    },
    at: (name) => world[name] as TestNode,
    create: async (more = {}) => {
      const snapshot = more.snapshot === undefined ? null : await fleet.store.findTagOf(more.snapshot);
      const made = await fleet.plane.creator.create({
        project: 'local',
        keyId: null,
        template: { ...template, ...size },
        snapshot: snapshot ?? null,
        ...{ build: null, timeoutMs: 3_600_000, metadata: {}, envVars: {}, secure: true },
        ...{
          network: more.network ?? null,
          ingress: null,
          isolation: 'container' as const,
          autoPause: null,
          autoResume: false,
        },
      });
      return made.id;
    },
    nodeOf: async (id) => (await fleet.store.findSandbox(id))?.node,
    stateOf: async (id) => (await fleet.store.findSandbox(id))?.state,
    states: async () =>
      Object.fromEntries((await fleet.hosts.nodes.list()).map(({ name, state }) => [name, state])),
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'skerry-nodes-'));
    fleet.store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
    fleet.manual = createManualClock();
    fleet.copies = createCopiesInMemory();
  });
  afterEach(async () => {
    await fleet.stop();
    for (const runtime of runtimes.values()) await runtime.close();
    runtimes.clear();
    await fleet.store.close();
    await rm(folder, { recursive: true });
  });
  return fleet;
};
