import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runCommand } from '../../../kernel/run-command.ts';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const fixture = useOci({ name: 'clock', memory: true });

/** How often the timer of each program fired, and the time since the host's start by Python's clock. */
const look = async (instance: Instance): Promise<{ node: number; python: number; monotonic: number }> => {
  const { output } = await runInside(instance, 'cat /root/node; echo; cat /root/python');
  const [node = 0, python = 0, monotonic = 0] = output.trim().split(/\s+/).map(Number);
  return { node, python, monotonic };
};

it('continues timers that were set before a reboot of the host, at the right time of day', async () => {
  const { dataDir, agentDir, rootfs, criuDir = '', settings, toId, reopen } = fixture;
  const id = toId();
  const aheadSeconds = 5_000_000;
  const lab = fileURLToPath(new URL('../testing/clock-lab.ts', import.meta.url));
  const clocks = ['--time', '--monotonic', String(aheadSeconds), '--boottime', String(aheadSeconds)];
  const given = [dataDir, agentDir, rootfs, criuDir, JSON.stringify({ id, ...settings })];
  const args = [...clocks, process.execPath, lab, ...given];
  const said = await runCommand({ file: 'unshare', args, timeoutMs: 60_000 });
  const before = Number(said.split(' ')[1]);
  expect(before).toBeGreaterThan(aheadSeconds);
  await reopen();
  const instance = await fixture.runtime.get(id);
  await instance.resume();
  await expect.poll(async () => (await look(instance)).monotonic).toBeGreaterThan(before);
  const first = await look(instance);
  expect(first.monotonic - before).toBeLessThan(1_000);
  await expect.poll(async () => (await look(instance)).node).toBeGreaterThan(first.node);
  await expect.poll(async () => (await look(instance)).python).toBeGreaterThan(first.python);
  const earliest = Date.now();
  const now = Number((await runInside(instance, 'date +%s%3N')).output);
  expect(now).toBeGreaterThanOrEqual(earliest);
  expect(now).toBeLessThanOrEqual(Date.now());
});
