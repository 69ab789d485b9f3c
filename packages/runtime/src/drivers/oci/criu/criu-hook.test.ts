import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CriuHook, createCriuHook, HOOK_DEADLINE_MS } from './criu-hook.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'criu-hook-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Calls it as CRIU does. */
const call = ({ script }: CriuHook, step: string) =>
  spawn(script, {
    env: { ...process.env, CRTOOLS_SCRIPT_ACTION: step, CRTOOLS_INIT_PID: '7' },
    stdio: 'ignore',
    detached: true,
  });

describe('a hook of CRIU', () => {
  it('replaces one that a killed process has left', async () => {
    const [left, hook] = [
      await createCriuHook({ folder, step: 'post-dump', work: async () => expect.fail('called') }),
      await createCriuHook({ folder, step: 'setup-namespaces', work: async () => {} }),
    ];
    expect(await once(call(hook, 'setup-namespaces'), 'exit')).toEqual([0, null]);
    await hook.close();
    expect(await readdir(folder)).toEqual([]);
    await left.close();
  });

  it('does its work at its step alone, and fails that step when the work fails', async () => {
    for (const reason of [undefined, new Error('no room')]) {
      const pids: number[] = [];
      const work = async (pid: number): Promise<void> => {
        pids.push(pid);
        if (reason) throw reason;
      };
      const hook = await createCriuHook({ folder, step: 'post-dump', work });
      expect(await once(call(hook, 'pre-dump'), 'exit')).toEqual([0, null]);
      expect(pids).toEqual([]);
      expect(await once(call(hook, 'post-dump'), 'exit')).toEqual([reason ? 1 : 0, null]);
      expect(pids).toEqual([7]);
      expect(hook.failure).toBe(reason);
      await hook.close();
      expect(await readdir(folder)).toEqual([]);
    }
  });

  it('fails its step when the work takes too long, and can be closed once the work has ended', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const [begun, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const work = async (): Promise<void> => {
      begun.resolve();
      await ending.promise;
    };
    const hook = await createCriuHook({ folder, step: 'post-dump', work });
    const ended = once(call(hook, 'post-dump'), 'exit');
    await begun.promise;
    vi.advanceTimersByTime(HOOK_DEADLINE_MS);
    vi.useRealTimers();
    expect(await ended).toEqual([1, null]);
    expect(hook.failure).toMatchObject({ code: 'unavailable' });
    ending.resolve();
    await hook.close();
    expect(await readdir(folder)).toEqual([]);
  });

  it('fails its step at once when the process that made it was killed', async () => {
    const source = `const { createCriuHook } = await import(${JSON.stringify(new URL('./criu-hook.ts', import.meta.url).href)});
      await createCriuHook({ folder: ${JSON.stringify(folder)}, step: 'post-dump', work: async () => {} });
      process.kill(process.pid, 'SIGKILL');`;
    await once(spawn(process.execPath, ['--input-type=module', '-e', source]), 'exit');
    expect(await readdir(folder)).toContain('hook');
    const [script, failure] = [join(folder, 'hook'), undefined];
    const begunMs = performance.now();
    const child = call({ script, failure, close: async () => {} }, 'post-dump');
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(performance.now() - begunMs).toBeLessThan(HOOK_DEADLINE_MS / 4);
  });

  it('is closed when its work has ended, also after CRIU was killed', async () => {
    const [begun, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const work = async (): Promise<void> => {
      begun.resolve();
      await ending.promise;
    };
    const hook = await createCriuHook({ folder, step: 'post-dump', work });
    const child = call(hook, 'post-dump');
    await begun.promise;
    // Kill the whole process group.
    process.kill(-(child.pid ?? expect.fail('not started')), 'SIGKILL');
    await once(child, 'exit');
    let isClosed = false;
    const closed = hook.close().then(() => {
      isClosed = true;
    });
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    // The files of the hook exist until it is closed.
    expect(isClosed).toBe(false);
    expect(await readdir(folder)).not.toEqual([]);
    ending.resolve();
    await closed;
    expect(await readdir(folder)).toEqual([]);
  });
});
