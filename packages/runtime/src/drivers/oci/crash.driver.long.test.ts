import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareSuiteAgent } from '../../suite/agent.ts';
import { runInside } from '../../suite/client.ts';
import { prepareSuiteRootfs } from '../../suite/rootfs.ts';
import { findTraces } from '../../suite/traces.ts';
import { prepareRunsc } from './gvisor/prepare-runsc.ts';
import { createOci } from './oci.ts';

const program = fileURLToPath(new URL('./testing/create-endlessly.ts', import.meta.url));

describe('the OCI driver when its process is killed', () => {
  let base: string;
  let dataDir: string;
  let agentDir: string;
  let rootfs: string;
  const ids = new Set<string>();

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'runtime-crash-'));
    dataDir = join(base, 'data');
    [agentDir, rootfs] = await Promise.all([prepareSuiteAgent(base), prepareSuiteRootfs()]);
  });
  afterAll(() => rm(base, { recursive: true, force: true }));

  /** Milliseconds after the program has begun or has made its first sandbox. */
  const killAfter = async (
    delayMs: number,
    prefix: string,
    { told = 'go', runscPath }: { told?: 'go' | 'made'; runscPath?: string | undefined } = {},
  ): Promise<void> => {
    const args = [program, dataDir, agentDir, rootfs, prefix, ...(runscPath ? [runscPath] : [])];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    await new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        if (line === told) resolve();
      });
    });
    await sleep(delayMs);
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const id of await readdir(join(dataDir, 'sandboxes')).catch(() => [])) ids.add(id);
  };

  /** A program that was started just before the kill may still be working for a moment. */
  const settledTraces = async (): Promise<string[]> => {
    for (const endMs = performance.now() + 20_000; ; await sleep(20)) {
      const traces = await findTraces({ dataDir, ids: [...ids] });
      if (traces.length === 0 || performance.now() > endMs) return traces;
    }
  };

  it.each([
    {
      level: 'container',
      delays: [0, 1, 2, 4, 6, 8, 10, 12, 15, 18, 21, 25, 30, 35, 40, 50, 60, 80, 100, 150, 200],
    },
    { level: 'gvisor', delays: [20, 60, 100, 150, 200, 280, 400] },
  ])(
    'leaves nothing that the next process does not find and remove, at any moment of the kill, at level $level',
    async ({ level, delays }) => {
      const runscPath =
        level === 'gvisor' ? await prepareRunsc({ targetDir: '/var/cache/skerry' }) : undefined;
      for (const [round, delayMs] of delays.entries()) {
        await killAfter(delayMs, `crash${process.pid}${level}r${round}`, { runscPath });
        const next = createOci({ dataDir, agentDir, runscPath });
        for await (const instance of next.list()) await instance.stop();
        await next.close();
        expect({ delayMs, left: await settledTraces() }).toEqual({ delayMs, left: [] });
      }
    },
  );

  it('keeps a running sandbox, and the next process adopts it', async () => {
    await killAfter(0, `kept${process.pid}`, { told: 'made' });
    const next = createOci({ dataDir, agentDir });
    const states: string[] = [];
    for await (const instance of next.list()) {
      const state = await instance.state();
      states.push(state);
      if (state === 'running') expect((await runInside(instance, 'echo on')).output).toBe('on\n');
      await instance.stop();
    }
    await next.close();
    expect(states).toContain('running');
    expect(await settledTraces()).toEqual([]);
  });
});
