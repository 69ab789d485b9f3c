import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';

const MIB = 2 ** 20;

const dataDir = mkdtempSync(join(tmpdir(), 'skerry-metrics-'));
let stack: Stack;
let sandbox: StackSandbox;
beforeAll(async () => {
  stack = await startStack({ dataDir });
  sandbox = await stack.createSandbox({ timeoutSeconds: 600 });
});
afterAll(async () => {
  await stack.down();
  rmSync(dataDir, { recursive: true });
});

const get = (sandboxID: string, query: { start?: number; end?: number } = {}) =>
  stack.api.GET('/sandboxes/{sandboxID}/metrics', { params: { path: { sandboxID }, query } });
const samplesOf = async (sandboxID: string, query?: { start?: number; end?: number }) => {
  const { data } = await get(sandboxID, query);
  if (data === undefined) throw new Error('no samples');
  return data;
};
const latest = (ids: string) =>
  fetch(`${stack.address.apiUrl}/sandboxes/metrics?sandbox_ids=${ids}`, {
    headers: { 'x-api-key': stack.address.apiKey },
  });
const seconds = (): number => Math.floor(Date.now() / 1000);

describe('the metrics of a sandbox', () => {
  it('are there within 30 s of its creation and every 5 s from then on, until it ends', async () => {
    const { sandboxId } = sandbox;
    await vi.waitUntil(async () => (await samplesOf(sandboxId)).length >= 3, {
      timeout: 60_000,
      interval: 250,
    });
    const samples = await samplesOf(sandboxId);
    const times = samples.map(({ timestamp }) => Date.parse(timestamp));
    const { data } = await stack.api.GET('/sandboxes/{sandboxID}', {
      params: { path: { sandboxID: sandboxId } },
    });
    expect((times[0] ?? 0) - Date.parse(data?.startedAt ?? '')).toBeLessThan(30_000);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    for (const gap of gaps) expect(gap).toBeGreaterThan(4_000);
    // A busy machine delays one of them.
    expect(Math.min(...gaps)).toBeLessThan(7_000);
    for (const sample of samples) {
      expect(sample).toMatchObject({ cpuCount: 2, memTotal: 1024 * MIB, diskTotal: 2048 * MIB });
      expect(sample.timestampUnix).toBe(Math.floor(Date.parse(sample.timestamp) / 1000));
      expect(sample.memUsed).toBeGreaterThan(5 * MIB);
      expect(sample.diskUsed).toBeGreaterThan(0);
    }
  });

  it('follow what the sandbox does: processors, memory and disk', async () => {
    const made = await Sandbox.connect(sandbox.sandboxId, stack.connection);
    const quiet = (await samplesOf(sandbox.sandboxId)).at(-1);
    const busy = await made.commands.run(
      `head -c 100000000 /dev/urandom > /tmp/fill; exec python3 -c "b = bytearray(120 * 2**20)
while True: pass"`,
      { background: true },
    );
    await delay(1_000);
    const begun = seconds();
    // One of two processors, or what the machine has left of it: a third of that, since it changes.
    const leastPct = async (): Promise<number> => {
      const { stdout } = await made.commands.run(`ps -o cputimes=,etimes= -p ${busy.pid}`);
      const [cpuSeconds = 0, seconds = 0] = stdout.trim().split(/\s+/).map(Number);
      return Math.min(15, (cpuSeconds / seconds / 2 / 3) * 100);
    };
    let seen: Awaited<ReturnType<typeof samplesOf>> = [];
    const find = async () => {
      const least = await leastPct();
      seen = await samplesOf(sandbox.sandboxId, { start: begun + 5 });
      return seen.find(({ memUsed, cpuUsedPct }) => memUsed > 120 * MIB && cpuUsedPct > Math.max(1, least));
    };
    const sample = await vi.waitUntil(find, { timeout: 80_000, interval: 500 }).catch((error: unknown) => {
      throw new Error(`none of these: ${JSON.stringify(seen)}`, { cause: error });
    });
    await busy.kill();
    expect(sample.cpuUsedPct).toBeLessThan(60);
    expect(sample.diskUsed - (quiet?.diskUsed ?? 0)).toBeGreaterThan(95_000_000);
    expect(sample.memCache - (quiet?.memCache ?? 0)).toBeGreaterThan(50_000_000);
    expect(sample.memUsed).toBeLessThan(sample.memTotal);
  });

  it('are cut to the window that is asked for, both ends included', async () => {
    const { sandboxId } = sandbox;
    const all = await samplesOf(sandboxId);
    const second = all[1]?.timestampUnix ?? 0;
    expect(await samplesOf(sandboxId, { start: second, end: second })).toEqual([all[1]]);
    expect(await samplesOf(sandboxId, { end: second })).toEqual(all.slice(0, 2));
    expect((await samplesOf(sandboxId, { start: second })).slice(0, all.length - 1)).toEqual(all.slice(1));
    expect(await samplesOf(sandboxId, { start: 1, end: 1_000 })).toEqual([]);
    expect(await samplesOf(sandboxId, { start: seconds() + 1_000 })).toEqual([]);
  });

  it('answer 400 for a start after the end and for what is no time, 404 for an unknown sandbox', async () => {
    const { error, response } = await get(sandbox.sandboxId, { start: 1_001, end: 1_000 });
    expect(response.status).toBe(400);
    expect(error).toEqual({
      code: 400,
      message: 'query.start must not be after query.end, got 1001 and 1000',
    });
    expect((await get(sandbox.sandboxId, { start: -1 })).response.status).toBe(400);
    expect((await get(sandbox.sandboxId, { start: 0.5 })).response.status).toBe(400);
    expect((await get('i00000000000000000000')).response.status).toBe(404);
  });

  it('survive a restart of the server, and go on after it', async () => {
    const before = await samplesOf(sandbox.sandboxId);
    await stack.stop();
    stack = await startStack({ dataDir });
    await vi.waitUntil(async () => (await samplesOf(sandbox.sandboxId)).length > before.length, {
      timeout: 60_000,
      interval: 500,
    });
    expect((await samplesOf(sandbox.sandboxId)).slice(0, before.length)).toEqual(before);
  });

  it('can be asked for after the end of the sandbox', async () => {
    const ending = await stack.createSandbox();
    await vi.waitUntil(async () => (await samplesOf(ending.sandboxId)).length > 0, {
      timeout: 60_000,
      interval: 500,
    });
    await ending.kill();
    expect((await samplesOf(ending.sandboxId)).length).toBeGreaterThan(0);
    expect(((await (await latest(ending.sandboxId)).json()) as { sandboxes: object }).sandboxes).toEqual({});
  });

  it('are printed by the command as a table, a sample a row', async () => {
    const argv = ['sandbox', 'metrics', '--data', stack.dataDir, sandbox.sandboxId];
    const lines = (await runProgram(skerryProgram, argv)).trim().split('\n');
    expect(lines[0]).toMatch(/^TIME +CPU +MEMORY +DISK$/);
    expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z {2}[\d.]+ % of 2 +\d+ of 1024 MiB +\d+ of 2048 MiB$/);
  });
});

describe('the latest metrics of several sandboxes', () => {
  it('hold each one that runs and was sampled, under its id', async () => {
    const answer = await latest(`${sandbox.sandboxId},i00000000000000000000`);
    expect(answer.status).toBe(200);
    const answered = (await answer.json()) as { sandboxes: Record<string, { timestamp: string }> };
    expect(Object.keys(answered.sandboxes)).toEqual([sandbox.sandboxId]);
    // A sample of now: one that a busy machine has delayed is followed by one that is not.
    const age = async (): Promise<number> => {
      const now = (await (await latest(sandbox.sandboxId)).json()) as typeof answered;
      return Date.now() - Date.parse(now.sandboxes[sandbox.sandboxId]?.timestamp ?? '');
    };
    await expect.poll(age).toBeLessThan(10_000);
  });

  it.each([
    ['none', ''],
    ['one twice', 'ia,ia'],
    ['101', Array.from({ length: 101 }, (_, index) => `i${index}`).join(',')],
  ])('are refused with 400 for %s', async (_what, ids) => {
    const answer = await latest(ids);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 400, message: expect.stringContaining('sandbox_ids') });
  });
});
