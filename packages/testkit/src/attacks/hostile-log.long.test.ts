import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type LogEntry, Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, onTestFailed, vi } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { atEachLevelAlone } from './attack.ts';

atEachLevelAlone(({ level, attack }) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-forged-'));
  const start = (): Promise<Stack> => startStack({ dataDir, args: ['--isolation', level] });
  let stack: Stack;
  let forger: Sandbox;
  beforeAll(async () => {
    stack = await start();
    const { sandboxId } = await stack.createSandbox({ timeoutSeconds: 600 });
    forger = await Sandbox.connect(sandboxId, stack.connection);
    const script = readFileSync(join(import.meta.dirname, 'hostile-log.py'));
    await forger.files.write('/tmp/forge.py', script);
    let isReady = false;
    await forger.commands.run('python3 /tmp/forge.py', {
      user: 'root',
      background: true,
      onStdout: () => {
        isReady = true;
      },
    });
    await vi.waitUntil(() => isReady, { timeout: 60_000 });
    // The next server connects to whatever it finds.
    await stack.kill();
    stack = await start();
  });
  afterAll(async () => {
    await stack.down();
    rmSync(dataDir, { recursive: true });
  });

  const find = (search: string): Promise<LogEntry[]> =>
    Sandbox.getLogs(forger.sandboxId, { ...stack.connection, search, direction: 'forward' });

  attack(
    'forging entries of the service in the log, or their time',
    'only the platform writes entries as platform',
    async () => {
      let told: LogEntry[] = [];
      onTestFailed(() => console.error('the log so far:', told.slice(0, 20), told.length, stack.log()));
      await expect
        .poll(
          async () => {
            told = await Sandbox.getLogs(forger.sandboxId, { ...stack.connection, direction: 'forward' });
            return (await find('from the past')).length;
          },
          { interval: 200 },
        )
        .toBeGreaterThan(0);
      const [past] = await find('from the past');
      const [future] = await find('from the future');
      const all = await Sandbox.getLogs(forger.sandboxId, { ...stack.connection, direction: 'forward' });
      expect(all.filter(({ logger }) => logger === 'platform').map(({ message }) => message)).toEqual([
        'sandbox started',
      ]);
      expect(all[0]?.timestamp.getTime()).toBeLessThanOrEqual(past?.timestamp.getTime() ?? 0);
      expect(Date.now() - (past?.timestamp.getTime() ?? 0)).toBeLessThan(120_000);
      expect(future?.timestamp.getTime()).toBeLessThanOrEqual(Date.now());
      expect(await find('no number')).toEqual([]);
      const [huge] = await find('huge ');
      expect(huge?.message).toHaveLength(2_000);
      expect(Object.keys(huge?.fields ?? {}).length).toBeLessThanOrEqual(16);
    },
  );

  attack('flooding the log', 'a rate and a size for each sandbox', async () => {
    const countBytes = async (): Promise<number> => {
      let bytes = 0;
      for (let from = new Date(0); ; ) {
        const page = await Sandbox.getLogs(forger.sandboxId, {
          ...stack.connection,
          search: 'flood ',
          direction: 'forward',
          from,
        });
        bytes += page.reduce((sum, { message }) => sum + message.length, 0);
        if (page.length < 1000) return bytes;
        from = new Date((page.at(-1)?.timestamp.getTime() ?? 0) + 1);
      }
    };
    const before = await countBytes();
    const begun = Date.now();
    const other = await stack.createSandbox();
    const inside = await Sandbox.connect(other.sandboxId, stack.connection);
    expect((await inside.commands.run('echo served')).stdout).toBe('served\n');
    await delay(3_000);
    const grown = (await countBytes()) - before;
    expect(grown).toBeGreaterThan(0);
    // 32 KiB a second, and what stands in buffers on the way.
    expect(grown).toBeLessThan(256 * 1024 + ((Date.now() - begun) / 1000) * 48 * 1024);
    await other.kill();
  });

  attack('evading a kill by way of the log', 'the service ends it and says so', async () => {
    const other = await stack.createSandbox();
    const killingMs = async (id: string): Promise<number> => {
      const begun = performance.now();
      await Sandbox.kill(id, stack.connection);
      return performance.now() - begun;
    };
    // A busy machine takes longer to kill any sandbox.
    const otherMs = await killingMs(other.sandboxId);
    expect(await killingMs(forger.sandboxId)).toBeLessThan(5_000 + 3 * otherMs);
    const told = await Sandbox.getLogs(forger.sandboxId, { ...stack.connection, search: 'sandbox killed' });
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ logger: 'platform', fields: { cause: 'killed' } });
  });
});
