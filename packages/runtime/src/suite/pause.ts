import { setTimeout as sleep } from 'node:timers/promises';
import { agentPort } from '@skerry/contract/directory';
import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../error.ts';
import { OPEN_NETWORK } from '../network/policy.ts';
import { callGuest, listInterfaces, runInside } from './client.ts';
import type { SuiteHost } from './suite-host.ts';
import { describeTree, toMakeTree } from './tree.ts';

/** The definition of a pause with `memory: false` and of a resume. */
export const pauseSuite = (host: SuiteHost): void => {
  const code = async (promise: Promise<unknown>): Promise<string> => {
    const error = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return error instanceof RuntimeError ? error.code : `not a RuntimeError: ${String(error)}`;
  };

  describe('a pause that keeps the files', () => {
    it('is declared by the features', () => {
      expect(host.runtime.features.pause.filesystem).toBe(true);
    });

    host.inside('keeps every file as it was, and ends every process', async () => {
      const instance = await host.create();
      await runInside(instance, toMakeTree(host.traits));
      const before = await runInside(instance, describeTree);
      expect(before.output).toContain('./a/file f 644 1000:2000 5');
      expect((await runInside(instance, 'cat /proc/[0-9]*/cmdline')).output).toContain('1000');
      await instance.pause({ memory: false });
      await instance.resume();
      expect(await runInside(instance, describeTree)).toEqual(before);
      expect((await runInside(instance, 'cat /proc/[0-9]*/cmdline')).output).not.toContain('1000');
      expect((await runInside(instance, 'echo more >> /srv/a/file; cat /srv/a/file')).output).toBe(
        'text\nmore\n',
      );
    });

    host.inside('leaves nothing on the host but what keeps it, and does not answer', async () => {
      const instance = await host.create({ network: OPEN_NETWORK });
      const ended = new Promise<void>((resolve) => void instance.onExit(resolve));
      const { runId } = instance;
      await instance.pause({ memory: false });
      await ended;
      expect(await instance.state()).toBe('paused');
      expect(instance.runId).toBe(runId);
      await expect.poll(() => host.traces(), { interval: 20 }).toEqual([`folder ${instance.id}`]);
      expect(await code(instance.connect(agentPort))).toBe('unavailable');
      expect(await code(instance.connect(8080))).toBe('unavailable');
      expect(await code(instance.control())).toBe('unavailable');
      const { diskBytes, ...rest } = await instance.usage();
      expect(rest).toEqual({
        cpuTimeMs: 0,
        memoryBytes: 0,
        cacheBytes: 0,
        freeDiskBytes: 0,
        processCount: 0,
      });
      expect(diskBytes).toBeGreaterThan(10_000);
      expect(diskBytes).toBeLessThan(64 * 2 ** 20);
    });

    host.inside('is found by the next process, which resumes it', async () => {
      const before = await host.create();
      await runInside(before, 'echo kept > /root/file');
      await before.pause({ memory: false });
      await host.reopen();
      const listed: string[] = [];
      for await (const { id } of host.runtime.list()) listed.push(id);
      expect(listed).toEqual([before.id]);
      const after = await host.runtime.get(before.id);
      expect(await after.state()).toBe('paused');
      expect(await code(host.create({ id: before.id }))).toBe('already_exists');
      await after.resume();
      expect((await runInside(after, 'cat /root/file')).output).toBe('kept\n');
    });

    host.inside('begins a run of its own with every resume', async () => {
      const instance = await host.create({ network: OPEN_NETWORK });
      const runs = [instance.runId];
      const ended: number[] = [];
      for (const turn of [1, 2, 3]) {
        instance.onExit(() => ended.push(turn));
        await runInside(instance, `echo ${turn} >> /root/turns`);
        await instance.pause({ memory: false });
        await instance.resume();
        expect(await instance.state()).toBe('running');
        runs.push(instance.runId);
      }
      expect(new Set(runs).size).toBe(4);
      await expect.poll(() => ended).toEqual([1, 2, 3]);
      expect((await host.runtime.get(instance.id)).runId).toBe(instance.runId);
      expect((await runInside(instance, `cat /root/turns; ${listInterfaces}`)).output).toBe(
        '1\n2\n3\neth0\nlo\n',
      );
    });

    it('is done once, for any number of requests', async () => {
      const instance = await host.create();
      await Promise.all([1, 2].map(() => instance.pause({ memory: false })));
      await instance.pause({ memory: false });
      const runs = await Promise.all(
        [1, 2].map(async () => {
          await instance.resume();
          return instance.runId;
        }),
      );
      expect(runs[0]).toBe(runs[1]);
      await instance.resume();
      expect(instance.runId).toBe(runs[0]);
      expect(await callGuest(await instance.control(), { path: '/' })).toBe('ok');
    });

    it('is removed by a stop, also during a pause or a resume', async () => {
      const [paused, pausing, resuming] = await Promise.all([1, 2, 3].map(() => host.create()));
      if (!paused || !pausing || !resuming) throw new Error('not made');
      await Promise.all([paused, resuming].map((instance) => instance.pause({ memory: false })));
      await paused.stop();
      expect(await code(host.runtime.get(paused.id))).toBe('not_found');
      expect(await code(paused.resume())).toMatch(/^(unavailable|not_found)$/);
      // The stop below happens during it, so it may end either way.
      const pause = pausing.pause({ memory: false }).catch(() => undefined);
      await pausing.stop();
      const resume = code(resuming.resume());
      await sleep(5);
      await resuming.stop();
      await pause;
      expect(await resume).toMatch(/^(unavailable|not a RuntimeError: undefined)$/);
      expect(await resuming.state()).toBe('stopped');
      await expect.poll(() => host.traces(), { interval: 20 }).toEqual([]);
    });

    if (host.isFull)
      host.inside('is still there when a resume is aborted, at whatever moment', async () => {
        const instance = await host.create();
        await runInside(instance, 'echo kept > /root/file');
        await instance.pause({ memory: false });
        let abortedCount = 0;
        for (const delayMs of [0, 5, 10, 20, 30, 45]) {
          const abort = new AbortController();
          const resumed = instance.resume({ signal: abort.signal });
          const settled = Promise.allSettled([resumed]);
          await sleep(delayMs);
          abort.abort();
          const [{ status }] = await settled;
          if (status === 'fulfilled') {
            // The abort was too late.
            await instance.pause({ memory: false });
          } else {
            expect(await code(resumed)).toBe('unavailable');
            abortedCount += 1;
          }
          expect(await instance.state()).toBe('paused');
          await expect.poll(() => host.traces(), { interval: 20 }).toEqual([`folder ${instance.id}`]);
        }
        expect(abortedCount).toBeGreaterThan(0);
        await instance.resume();
        expect((await runInside(instance, 'cat /root/file')).output).toBe('kept\n');
      });

    it('does not claim to have kept the memory', async () => {
      const instance = await host.create();
      await instance.pause({ memory: false });
      expect(await code(instance.resume({ memory: true }))).toBe('unsupported');
      expect(await instance.state()).toBe('paused');
      await instance.resume({ memory: false });
      expect(await instance.state()).toBe('running');
    });

    host.inside('is refused for what has died', async () => {
      const instance = await host.create();
      // No process is left to answer.
      await runInside(instance, 'kill -9 $PPID').catch(() => undefined);
      await expect.poll(() => instance.state()).toBe('stopped');
      expect(await code(instance.pause({ memory: false }))).toBe('unavailable');
      expect(await code(instance.resume())).toBe('unavailable');
    });
  });
};
