import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeDescription } from '@skerry/runtime/node';
import { afterEach, beforeEach, expect } from 'vitest';
import { type ControlPlane, createControlPlane } from '../../control-plane/control-plane.ts';
import { createRandomIds } from '../../ids.ts';
import { defaultLimits, type Limits } from '../../limits.ts';
import { createNewWork } from '../../new-work.ts';
import type { Ingress, SandboxRow } from '../../store/rows.ts';
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
export const leaseMs = 6_000;
const names = ['a', 'b'];

const description: NodeDescription = {
  version: '1',
  base: { rootfs: '/', digest: 'sha256:1' },
  templatesFolder: '/templates',
  room: { sandboxes: 4, memoryBytes: 2 ** 30, cpuCount: 1 },
  usedMemoryBytes: 0,
};

const toList = (): Membership =>
  createStaticMembership(names.map((name) => ({ name, address: `${name}:1` })));

/** One of several servers, in this process. */
export interface TestServer {
  owner: string;
  hosts: Fleet;
  plane: ControlPlane;
  /** The server's own clock: moving it leaves the clocks of other servers where they are. */
  manual: ReturnType<typeof createManualClock>;
  /** What it has logged. */
  lines: readonly LogLine[];
  /** The epochs with which it has claimed nodes. */
  claims: Record<string, number>;
  /** The streams that it has opened to nodes of others. */
  doors: string[];
}

/** Servers over one real store and the nodes "a" and "b" of this process. */
export interface TestServers {
  store: Store;
  /** The blob store of all. */
  copies: CopiesInMemory;
  /** The list of both nodes is its membership, unless there is another one. */
  start(owner: string, membership?: Membership, limits?: Partial<Limits>): Promise<TestServer>;
  /** The highest epoch that has claimed a node. */
  epochOf(node: string): number;
  stop(server: TestServer): Promise<void>;
  owned(server: TestServer): string[];
  runtimeOf(node: string): FaultyRuntime;
  /** Ends the connection of a node with its server, or makes it again. */
  cut(node: string): void;
  mend(node: string): void;
  /** Passes time for the database and these servers, until they own those nodes. */
  pass(of: readonly TestServer[], expected: string[][]): Promise<void>;
  /** Passes time of the database alone. */
  passDatabase(ms: number): void;
  create(
    server: TestServer,
    more?: { isForwarded?: boolean; autoResume?: boolean; ingress?: Ingress },
  ): Promise<SandboxRow>;
  stateOf(id: string): Promise<string | undefined>;
}

/** Gives each test of the file fresh servers; with a blob store if that is wanted. */
export const useServers = ({ hasCopies = false } = {}): TestServers => {
  let folder: string;
  let databaseNow: number;
  const running: TestServer[] = [];
  const runtimes = new Map<string, FaultyRuntime>();
  /** Node → the highest epoch that has claimed it; and the connections to nodes. */
  let epochs: Record<string, number>;
  let links: { node: string; epoch: number; up: () => void; down: () => void }[];

  const runtimeOf = (name: string): FaultyRuntime => {
    const runtime =
      runtimes.get(name) ??
      createFaultyRuntime({ dataDir: join(folder, name), pause: { memory: true, filesystem: true } });
    runtimes.set(name, runtime);
    return runtime;
  };
  /** Returns the connection of the server that has claimed the node last. */
  const linkOf = (node: string) =>
    links.findLast((link) => link.node === node && link.epoch === epochs[node]);

  const servers: TestServers = {
    // Set before each test.
    ...({} as Pick<TestServers, 'store' | 'copies'>),
    epochOf: (node) => epochs[node] ?? 0,
    start: async (owner, membership = toList(), limits = {}) => {
      const manual = createManualClock();
      const { log, lines } = createRecordingLog();
      const claims: Record<string, number> = {};
      const doors: string[] = [];
      const connect: ConnectNode = ({ name, epoch }, { onAnswer, onFailure }) => {
        claims[name] = epoch;
        const isRefused = epoch < (epochs[name] ?? 0);
        epochs[name] = Math.max(epoch, epochs[name] ?? 0);
        const up = () => onAnswer(description);
        links.push({ node: name, epoch, up, down: () => onFailure(new Error('cut')) });
        queueMicrotask(() => (isRefused ? onFailure(new Error('refused')) : up()));
        const runtime = runtimeOf(name);
        const images = createImagesInMemory(join(folder, name), new Map());
        const snapshots = hasCopies ? servers.copies.of(name, runtime) : undefined;
        return { runtime, images, snapshots, close: async () => {} };
      };
      const store = servers.store.ownedBy(owner);
      const hosts = createFleet({
        ...{ membership, connect, store, clock: manual.clock, log, deadMs: 60_000 },
        blobs: hasCopies ? servers.copies.blobs : undefined,
        replica: {
          ...{ owner, address: `${owner}:1`, leaseMs },
          openDoor: async ({ name }, { instance }, port) => {
            doors.push(name);
            return (await runtimeOf(name).get(instance)).connect(port);
          },
          imagesAt: () => createImagesInMemory(folder, new Map()),
        },
      });
      const plane = createControlPlane({
        newWork: createNewWork(),
        ...{ store, hosts, clock: manual.clock, log },
        ...{ secret: 'secret', limits: { ...defaultLimits, ...limits } },
        images: { base: hosts.images.base },
        ids: createRandomIds(),
        connectAt: async (address, { id, timeoutMs }) => {
          const there = running.find((one) => `${one.owner}:1` === address);
          if (timeoutMs === undefined) await there?.plane.waker.wake(id, { isForwarded: true });
          else await there?.plane.resumer.connect(id, { timeoutMs, memory: true, isForwarded: true });
        },
      });
      await plane.start({ ...template, ...size });
      await hosts.start(plane.nodeEvents);
      const server = { owner, hosts, plane, manual, lines, claims, doors };
      running.push(server);
      return server;
    },
    stop: async (server) => {
      running.splice(running.indexOf(server), 1);
      await server.plane.close();
      await server.hosts.close();
    },
    owned: ({ hosts }) => names.filter((name) => hosts.owns(name)),
    runtimeOf,
    cut: (node) => linkOf(node)?.down(),
    mend: (node) => linkOf(node)?.up(),
    pass: async (of, expected) => {
      await expect
        .poll(async () => {
          databaseNow += leaseMs / 3;
          for (const { manual } of of) manual.advance(leaseMs / 3);
          await new Promise((resolve) => setTimeout(resolve, 20));
          return of.map(servers.owned);
        })
        .toEqual(expected);
    },
    passDatabase: (ms) => {
      databaseNow += ms;
    },
    create: ({ plane }, more = {}) =>
      plane.creator.create({
        project: 'local',
        keyId: null,
        template: { ...template, ...size },
        ...{ snapshot: null, build: null, timeoutMs: 3_600_000, metadata: {}, envVars: {}, secure: true },
        ...{
          network: null,
          ingress: null,
          isolation: 'container' as const,
          autoPause: null,
          autoResume: false,
          ...more,
        },
      }),
    stateOf: async (id) => (await servers.store.findSandbox(id))?.state,
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'skerry-replicas-'));
    databaseNow = 1_000_000;
    epochs = {};
    links = [];
    servers.copies = createCopiesInMemory();
    servers.store = await createStore({
      path: join(folder, 'skerry.db'),
      secret: 'secret',
      now: () => databaseNow,
    });
  });
  afterEach(async () => {
    for (const server of [...running]) await servers.stop(server);
    for (const runtime of runtimes.values()) await runtime.close();
    runtimes.clear();
    await servers.store.close();
    await rm(folder, { recursive: true });
  });
  return servers;
};
