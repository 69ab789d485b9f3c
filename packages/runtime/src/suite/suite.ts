import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RuntimeError } from '../error.ts';
import { CLOSED_NETWORK } from '../network/policy.ts';
import type { Instance, InstanceSpec, Runtime } from '../runtime.ts';
import { prepareSuiteAgent } from './agent.ts';
import { callGuest, runInside } from './client.ts';
import { confinementSuite } from './confinement.ts';
import { diffSuite } from './diff.ts';
import { toLevelTraits } from './levels.ts';
import { pauseSuite } from './pause.ts';
import { prepareSuiteRootfs } from './rootfs.ts';
import { snapshotSuite } from './snapshot.ts';
import type { SuiteHost } from './suite-host.ts';
import { findTraces } from './traces.ts';

export interface SuiteContext {
  /** A fresh folder for everything the runtime keeps. */
  dataDir: string;
  /** Contains the suite's guest in the place of the agent. */
  agentDir: string;
}

export interface SuiteOptions {
  /** The attempts of the hostile program that succeed with this driver beside those of its level, with reasons. */
  letsThrough?: Readonly<Record<string, string>>;
  /** Whether programs run inside, which must agree with the features. Default true. */
  programs?: boolean;
  /** What `pnpm test:more` declares, or the short form of `npm test`. Default: full. */
  form?: 'full' | 'short';
  /** Whether what confines programs is tried too. False where only the way to a driver differs that is tested elsewhere. */
  confinement?: boolean;
}

const MIB = 2 ** 20;

/**
 * The definition of a runtime. A driver's test is a factory and one call of this. The factory is called again on the
 * same folder after `close`, and must find what it had made.
 */
export const runtimeSuite = (
  name: string,
  open: (context: SuiteContext) => Promise<Runtime>,
  { letsThrough = {}, programs = true, form = 'full', confinement = true }: SuiteOptions = {},
): void => {
  describe(name, () => {
    let base: string;
    let context: SuiteContext;
    let rootfs: string;
    let runtime: Runtime;
    const ids: string[] = [];

    const host: SuiteHost = {
      get runtime() {
        return runtime;
      },
      get dataDir() {
        return context.dataDir;
      },
      get traits() {
        return toLevelTraits(runtime.features);
      },
      inside: (title, test) =>
        it(title, async (context) => {
          context.skip(!programs, 'no programs run inside');
          await test();
        }),
      isFull: form === 'full',
      spec: (change) => {
        const id = change?.id ?? `suite${process.pid}x${Math.random().toString(36).slice(2, 10)}`;
        ids.push(id);
        return {
          id,
          ...(change && 'snapshot' in change ? {} : { rootfs }),
          hostname: 'box',
          limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
          network: CLOSED_NETWORK,
          ...change,
        } as InstanceSpec;
      },
      create: (change) => runtime.create(host.spec(change)),
      reopen: async () => {
        await runtime.close();
        runtime = await open(context);
      },
      get letsThrough() {
        return [...host.traits.letsThrough, ...Object.keys(letsThrough)].sort();
      },
      traces: () => findTraces({ dataDir: context.dataDir, ids }),
    };

    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), 'runtime-suite-'));
      const dataDir = join(base, 'data');
      await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
      const agentDir = await prepareSuiteAgent(base);
      rootfs = await prepareSuiteRootfs();
      context = { dataDir, agentDir };
      runtime = await open(context);
    });

    afterEach(async () => {
      for await (const instance of runtime.list()) await instance.stop();
      for await (const { id } of runtime.snapshots.list()) await runtime.snapshots.delete(id);
      await expectNoTraces(host);
    });

    afterAll(async () => {
      await runtime?.close();
      await rm(base, { recursive: true, force: true });
    });

    lifeSuite(host);
    pauseSuite(host);
    snapshotSuite(host);
    it('runs programs inside, or none, as declared by its features', () => {
      expect(runtime.features.programs).toBe(programs);
    });
    if (!programs) return;
    if (host.isFull) diffSuite(host);
    if (confinement) confinementSuite(host);
  });
};

/** A process that starts at the same time keeps its copy of the host's mounts, and so a disk, for some milliseconds. */
const expectNoTraces = (host: SuiteHost): Promise<void> =>
  expect.poll(() => host.traces(), { interval: 20 }).toEqual([]);

const listIds = async (runtime: Runtime): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { id } of runtime.list()) ids.push(id);
  return ids;
};

const lifeSuite = (host: SuiteHost): void => {
  const code = async (promise: Promise<unknown>): Promise<string> => {
    const error = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return error instanceof RuntimeError ? error.code : `not a RuntimeError: ${String(error)}`;
  };

  describe('life', () => {
    host.inside('resolves a create when commands can be run inside', async () => {
      const instance = await host.create({ hostname: 'my-box' });
      expect(await runInside(instance, 'id -u; hostname; cat /etc/hostname')).toEqual({
        code: 0,
        output: '0\nmy-box\nmy-box\n',
      });
      expect(await instance.state()).toBe('running');
    });

    it('reaches the private channel of the agent', async () => {
      const instance = await host.create();
      expect(await callGuest(await instance.control(), { path: '/' })).toBe('ok');
    });

    host.inside(
      'connects to a port on the loopback inside, and rejects with "refused" when nothing listens',
      async () => {
        const instance = await host.create();
        const server = `require('net').createServer((s) => s.end('hello')).listen(8080, '127.0.0.1')`;
        await runInside(
          instance,
          `LD_LIBRARY_PATH=/.envd/lib setsid /.envd/node -e "${server}" >/dev/null 2>&1 </dev/null &
          until grep -q ':1F90 ' /proc/net/tcp; do sleep 0.05; done`,
        );
        const stream = await instance.connect(8080);
        let text = '';
        for await (const chunk of stream) text += String(chunk);
        expect(text).toBe('hello');
        expect(await code(instance.connect(8081))).toBe('refused');
      },
    );

    it('refuses a second sandbox of the same id and leaves the first unchanged', async () => {
      const first = await host.create();
      expect(await code(host.create({ id: first.id }))).toBe('already_exists');
      expect(await callGuest(await first.control(), { path: '/' })).toBe('ok');
    });

    it('assigns a run id of its own to every start of an id', async () => {
      const first = await host.create();
      await first.stop();
      const second = await host.create({ id: first.id });
      expect(second.runId).not.toBe(first.runId);
      await first.stop();
      expect(await second.state()).toBe('running');
    });

    it('rejects with "not_found" for an unknown id', async () => {
      expect(await code(host.runtime.get('nobody'))).toBe('not_found');
      expect(await code(host.runtime.get('../etc'))).toBe('not_found');
    });

    host.inside('finds running sandboxes again after the runtime was closed and opened', async () => {
      const before = await host.create();
      await runInside(before, 'echo kept > /root/file');
      await host.reopen();
      const listed = await listIds(host.runtime);
      expect(listed).toEqual([before.id]);
      const after = await host.runtime.get(before.id);
      expect(after.runId).toBe(before.runId);
      expect(await after.state()).toBe('running');
      expect((await runInside(after, 'cat /root/file')).output).toBe('kept\n');
    });

    if (host.isFull)
      host.inside('makes several at once', async () => {
        const made = await Promise.all([1, 2, 3, 4, 5, 6].map(() => host.create()));
        const answers = await Promise.all(
          made.map((instance) => runInside(instance, 'echo $$ > /root/x; ls /root')),
        );
        expect(answers.map(({ output }) => output)).toEqual(made.map(() => 'x\n'));
        await Promise.all(made.map((instance) => instance.stop()));
      });

    it('can be stopped any number of times', async () => {
      const instance = await host.create();
      await Promise.all([instance.stop(), instance.stop()]);
      await instance.stop();
      expect(await instance.state()).toBe('stopped');
      expect(await code(host.runtime.get(instance.id))).toBe('not_found');
      expect(await code(instance.control())).toBe('unavailable');
    });

    host.inside(
      'reports the end of a sandbox once, after a stop or a crash, also after reopening',
      async () => {
        const ended: string[] = [];
        const until = async (count: number): Promise<void> => {
          for (let turn = 0; ended.length < count && turn < 100; turn++) await sleep(20);
        };
        const stopped = await host.create();
        stopped.onExit(() => ended.push('stopped'));
        stopped.onExit(() => ended.push('taken back'))();
        await stopped.stop();
        await until(1);
        const made = await host.create();
        await host.reopen();
        const dying = await host.runtime.get(made.id);
        dying.onExit(() => ended.push('died'));
        // The parent of the shell is the agent, which pid 1 waits for. The call may reject, since no process is left to answer it;
        // whether the instance has died is seen below.
        await runInside(dying, 'kill -9 $PPID').catch(() => undefined);
        await until(2);
        expect(ended).toEqual(['stopped', 'died']);
        expect(await dying.state()).toBe('stopped');
      },
    );

    host.inside('reports what a sandbox uses', async () => {
      const instance = await host.create();
      const before = await instance.usage();
      const work =
        'head -c 20000000 /dev/zero > /root/f; sync; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done';
      await runInside(instance, work);
      const after = await instance.usage();
      expect(before.memoryBytes).toBeGreaterThan(5 * MIB);
      expect(before.processCount).toBeGreaterThanOrEqual(2);
      expect(after.cpuTimeMs - before.cpuTimeMs).toBeGreaterThan(50);
      expect(after.diskBytes - before.diskBytes).toBeGreaterThan(19_000_000);
      expect(after.freeDiskBytes).toBeGreaterThan(0);
      if (host.runtime.features.limits.disk)
        expect(before.freeDiskBytes - after.freeDiskBytes).toBeGreaterThan(19_000_000);
      expect(after.cacheBytes - before.cacheBytes).toBeGreaterThan(19_000_000);
    });

    if (host.isFull)
      it('leaves nothing when a create is aborted at any moment', async () => {
        let abortedCount = 0;
        for (const delayMs of [0, 3, 8, 15, 25, 40]) {
          const abort = new AbortController();
          const created = host.runtime.create(host.spec(), { signal: abort.signal });
          const settled = Promise.allSettled([created]);
          if (delayMs > 0) await sleep(delayMs);
          abort.abort();
          const [made] = await settled;
          if (made.status === 'fulfilled') {
            // The abort was too late.
            await made.value.stop();
          } else {
            expect(await code(created)).toBe('unavailable');
            abortedCount += 1;
          }
          await expectNoTraces(host);
        }
        expect(abortedCount).toBeGreaterThan(0);
      });

    it('leaves nothing when a create fails', async () => {
      expect(await code(host.create({ rootfs: '/nonexistent' }))).toBe('internal');
      await expectNoTraces(host);
    });

    it('refuses an id with other characters', async () => {
      for (const id of ['', '..', 'a/b', 'A', 'a'.repeat(41)]) {
        expect(await code(host.runtime.create({ ...host.spec(), id }))).toBe('internal');
      }
    });

    it('rejects with "unsupported" for what its features declare false, and for nothing else', async () => {
      const { pause, snapshot, imageExport } = host.runtime.features;
      const operations: Record<string, [isDeclared: boolean, act: (instance: Instance) => Promise<unknown>]> =
        {
          pauseMemory: [pause.memory, (one) => one.pause({ memory: true })],
          pauseFiles: [pause.filesystem, (one) => one.pause({ memory: false })],
          resume: [pause.memory || pause.filesystem, (one) => one.resume()],
          snapshotMemory: [snapshot.memory, (one) => one.snapshot({ id: 's1', memory: true })],
          snapshotFiles: [snapshot.filesystem, (one) => one.snapshot({ id: 's2', memory: false })],
          image: [imageExport, (one) => one.exportImage({ path: '/nonexistent/image' })],
          snapshotImage: [
            imageExport,
            () => host.runtime.snapshots.exportImage('none', { path: '/nonexistent/image' }),
          ],
        };
      // What is declared would succeed on the one that runs.
      const [running, stopped] = await Promise.all([host.create(), host.create()]);
      await stopped.stop();
      for (const [name, [isDeclared, act]] of Object.entries(operations)) {
        const found = await code(act(isDeclared ? stopped : running));
        expect([name, found]).toEqual([
          name,
          isDeclared ? expect.stringMatching(/^(unavailable|not_found|internal)$/) : 'unsupported',
        ]);
      }
      expect(await running.state()).toBe('running');
    });
  });
};
