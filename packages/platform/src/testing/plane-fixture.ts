import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Route } from '@skerry/contract/directory';
import type { Features, NetworkPolicy } from '@skerry/runtime';
import { createSystemClock } from '../clock.ts';
import { type ControlPlane, createControlPlane } from '../control-plane/control-plane.ts';
import { createOneMachine } from '../hosts/one-machine.ts';
import { createRandomIds } from '../ids.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { createNewWork } from '../new-work.ts';
import { type BuildRow, emptyRunConfig } from '../store/build-rows.ts';
import type { Ingress, PauseKind, SandboxRow, TemplateRow } from '../store/rows.ts';
import { createStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { createFaultyRuntime, type FaultyRuntime } from './faulty-runtime.ts';
import { createFolderImages } from './folder-images.ts';
import { createRecordingLog, type LogLine } from './recording-log.ts';

/** A control plane over a real store and an in-process runtime. */
export interface PlaneFixture {
  readonly store: Store;
  runtime: FaultyRuntime;
  /** What all planes have logged. */
  readonly lines: readonly LogLine[];
  /** The one of the last `startPlane`. */
  plane: ControlPlane;
  /** Replaces the runtime of the next `startPlane`. */
  useRuntime(pause: Features['pause']): void;
  /** Starts a control plane on the existing state, as a server that starts after another one has ended. */
  startPlane(limits?: Partial<Limits>): Promise<ControlPlane>;
  /** Creates a running sandbox; resolves with its id. */
  create(options?: {
    project?: string;
    keyId?: string;
    timeoutMs?: number;
    autoPause?: PauseKind | null;
    autoResume?: boolean;
    network?: NetworkPolicy | null;
    ingress?: Ingress | null;
  }): Promise<string>;
  /** A template of that name with a start command, and with a checkpoint if that is wanted, as its build leaves it. */
  addStarted(
    name: string,
    options: { readyCmd: string; hasCheckpoint?: boolean },
  ): Promise<{ template: TemplateRow; build: BuildRow }>;
  rowOf(id: string): Promise<SandboxRow | undefined>;
  route(id: string): Promise<Route | undefined>;
  close(): Promise<void>;
}

/** What a create chooses when it names nothing but what it begins with. */
export const plainChoices = {
  keyId: null,
  timeoutMs: 60_000,
  metadata: {},
  envVars: {},
  secure: true,
  network: null,
  ingress: null,
  isolation: 'container' as const,
  autoPause: null,
  autoResume: false,
};

export const createPlaneFixture = async (): Promise<PlaneFixture> => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-plane-'));
  const store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
  const images = createFolderImages(join(folder, 'templates'));
  const planes: ControlPlane[] = [];
  const { log, lines } = createRecordingLog();
  const runtimes: FaultyRuntime[] = [];
  const makeRuntime = (pause: Features['pause']): FaultyRuntime => {
    const made = createFaultyRuntime({ dataDir: join(folder, `runtime${runtimes.length}`), pause });
    runtimes.push(made);
    return made;
  };
  const runtime = makeRuntime({ memory: true, filesystem: true });
  const size = { createdAt: 0, cpuCount: 1, memoryMb: 128, diskMb: 1 };
  const template = {
    id: 't1',
    project: 'local',
    name: 'base',
    kind: 'image' as const,
    public: false,
    ...size,
  };
  const makePlane = async (on: FaultyRuntime, limits = {}): Promise<ControlPlane> => {
    const made = createControlPlane({
      newWork: createNewWork(),
      store,
      hosts: createOneMachine({ runtime: on, images }),
      images: { base: { rootfs: '/' }, templates: images },
      secret: 'secret',
      clock: createSystemClock(),
      ids: createRandomIds(),
      log,
      limits: { ...defaultLimits, ...limits },
    });
    planes.push(made);
    await made.start(template);
    return made;
  };
  const fixture: PlaneFixture = {
    store,
    runtime,
    lines,
    plane: await makePlane(runtime),
    useRuntime: (pause) => {
      fixture.runtime = makeRuntime(pause);
    },
    startPlane: async (limits) => {
      fixture.plane = await makePlane(fixture.runtime, limits);
      return fixture.plane;
    },
    create: async ({
      project = 'local',
      keyId = undefined as string | undefined,
      timeoutMs = 60_000,
      autoPause = null,
      autoResume = false,
      network = null,
      ingress = null,
    } = {}) => {
      const choices = { ...plainChoices, timeoutMs, autoPause, autoResume, network, ingress };
      const from = {
        project,
        keyId: keyId ?? null,
        template,
        snapshot: null,
        build: null,
        isolation: 'container' as const,
        envVars: { A: 'b' },
      };
      return (await fixture.plane.creator.create({ ...choices, ...from })).id;
    },
    addStarted: async (name, { readyCmd, hasCheckpoint = false }) => {
      const { plane, runtime: on } = fixture;
      const host = createOneMachine({ runtime: on }).of(null);
      const id = createRandomIds().buildId();
      const { cpuCount, memoryMb, diskMb } = template;
      const of = {
        id,
        createdAt: 0,
        cpuCount,
        memoryMb,
        diskMb,
        minFreeDiskMb: 0,
        isolation: null,
        tags: ['default'],
      };
      const build = await store.addBuild(
        { project: 'local', ...of },
        { templateId: `t-${name}`, name, superseded: '' },
      );
      if (typeof build === 'string') throw new Error(`the build of ${name} was refused: ${build}`);
      await store.startBuild(id, 0);
      await images.add(name);
      const checkpointId = hasCheckpoint
        ? await plane.snapshotter.checkpoint(
            { host, instance: await fixture.runtime.get(await fixture.create()) },
            build,
          )
        : null;
      const start = { startCmd: 'serve', readyCmd, user: 'user', workdir: '/', env: {} };
      const made = {
        finishedAt: 0,
        image: name,
        imageBytes: 0,
        env: {},
        runConfig: emptyRunConfig,
        start,
        checkpointId,
        isolation: null,
      };
      const ready = await store.finishBuild(id, made);
      if (checkpointId !== null) await plane.snapshotter.release(checkpointId);
      const row = await store.findNamedTemplate({ project: 'local', name });
      if (ready === undefined || row === undefined) throw new Error('the build did not become ready');
      return { template: row, build: ready };
    },
    rowOf: (id) => store.findSandbox(id),
    route: (id) => fixture.plane.directory.find(id),
    close: async () => {
      for (const made of planes.splice(0)) await made.close();
      for (const made of runtimes) await made.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
  return fixture;
};
