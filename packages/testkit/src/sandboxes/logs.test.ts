import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'skerry-logs-'));
let stack: Stack;
let sandbox: StackSandbox;
let sdk: Sandbox;
beforeAll(async () => {
  stack = await startStack({ dataDir });
  sandbox = await stack.createSandbox({ timeoutSeconds: 600 });
  sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
});
afterAll(async () => {
  await stack.down();
  rmSync(dataDir, { recursive: true });
});

type Query = NonNullable<Parameters<typeof getV2>[1]>;
const getV1 = (sandboxID: string, query: { start?: number; limit?: number } = {}) =>
  stack.api.GET('/sandboxes/{sandboxID}/logs', { params: { path: { sandboxID }, query } });
const getV2 = (
  sandboxID: string,
  query: {
    cursor?: number;
    limit?: number;
    direction?: 'forward' | 'backward';
    level?: 'debug' | 'info' | 'warn' | 'error';
    search?: string;
  } = {},
) => stack.api.GET('/v2/sandboxes/{sandboxID}/logs', { params: { path: { sandboxID }, query } });
const logsOf = async (sandboxID: string, query?: Query) => {
  const { data } = await getV2(sandboxID, { direction: 'forward', ...query });
  if (data === undefined) throw new Error('no log');
  return data.logs;
};
/** Resolves with the entries that are found, once there are `count`. */
const untilLogged = async (id: string, search: string, count = 1) => {
  const find = () => logsOf(id, { search });
  await expect.poll(async () => (await find()).length, { interval: 100 }).toBeGreaterThanOrEqual(count);
  return find();
};
const messagesOf = async (id: string): Promise<string[]> => (await logsOf(id)).map(({ message }) => message);

describe('the log of a sandbox', () => {
  it('lists processes: command, user, tag, pid and how they ended', async () => {
    const handle = await sdk.commands.run('exit 7 # marked', { background: true, user: 'root' });
    // The log is to tell the status, which is no 0.
    await handle.wait().catch(() => undefined);
    const [started, ended] = await untilLogged(sandbox.sandboxId, '# marked', 2);
    const fields = {
      logger: 'process',
      pid: String(handle.pid),
      cmd: '/bin/bash -l -c exit 7 # marked',
      user: 'root',
    };
    expect(started).toMatchObject({ level: 'info', message: 'process started', fields });
    expect(ended).toMatchObject({
      level: 'info',
      message: 'process ended',
      fields: { ...fields, exitCode: '7', status: 'exit status 7' },
    });
  });

  it('lists uploads that failed', async () => {
    await expect(sdk.files.write('/etc/passwd/below', 'x')).rejects.toThrow();
    const [entry] = await untilLogged(sandbox.sandboxId, 'upload failed');
    expect(entry).toMatchObject({ level: 'warn', fields: { logger: 'files', request: 'POST /files' } });
  });

  it('arrives without a request, a moment after it was written', async () => {
    await sdk.commands.run('true # noticed');
    await untilLogged(sandbox.sandboxId, '# noticed', 2);
    const before = Date.now();
    await sdk.commands.run('true # promptly');
    const ranMs = Date.now() - before;
    await untilLogged(sandbox.sandboxId, '# promptly', 2);
    // On a busy machine the command itself takes longer, too.
    expect(Date.now() - before).toBeLessThan(3_000 + 3 * ranMs);
  });

  it('is JSON text, with level and logger, a line in the first version of the API', async () => {
    const { data } = await getV1(sandbox.sandboxId);
    expect(data?.logs.length).toBe(data?.logEntries.length);
    for (const [index, { timestamp, line }] of (data?.logs ?? []).entries()) {
      const entry = data?.logEntries[index];
      const { level, logger, message } = JSON.parse(line) as Record<string, unknown>;
      expect({ timestamp, level, logger, message }).toEqual({
        timestamp: entry?.timestamp,
        level: entry?.level,
        logger: entry?.fields.logger,
        message: entry?.message,
      });
    }
    expect(JSON.parse(data?.logs[0]?.line ?? '')).toMatchObject({ level: 'info' });
  });

  it('is cut by start and limit, by cursor in both directions, by level and by text', async () => {
    const { sandboxId } = sandbox;
    const all = await logsOf(sandboxId);
    const times = all.map(({ timestamp }) => Date.parse(timestamp));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const middle = times[2] ?? 0;
    const from = all.filter((_, index) => (times[index] ?? 0) >= middle);
    const to = all.filter((_, index) => (times[index] ?? 0) <= middle);
    expect((await getV1(sandboxId, { start: middle })).data?.logEntries).toEqual(from);
    // Those of one millisecond are not separated.
    const ofSecond = all.filter((_, index) => (times[index] ?? 0) <= (times[1] ?? 0));
    expect((await getV1(sandboxId, { limit: 2 })).data?.logEntries).toEqual(ofSecond);
    expect(await logsOf(sandboxId, { cursor: middle })).toEqual(from);
    expect((await getV2(sandboxId, { cursor: middle })).data?.logs).toEqual(to.toReversed());
    const newest = all.filter((_, index) => times[index] === times.at(-1)).toReversed();
    expect((await getV2(sandboxId, { limit: 1 })).data?.logs).toEqual(newest);
    const levels = await logsOf(sandboxId, { level: 'warn' });
    expect(levels.length).toBeGreaterThan(0);
    expect(levels).toEqual(all.filter(({ level }) => level === 'warn' || level === 'error'));
    expect(await logsOf(sandboxId, { search: '# Noticed' })).toEqual([]);
    expect(await logsOf(sandboxId, { search: '100%' })).toEqual([]);
  });

  it.each([
    ['a limit above 1000', { limit: 1001 }],
    ['a direction that is none', { direction: 'up' as 'forward' }],
    ['a level that is none', { level: 'loud' as 'info' }],
    ['a long text', { search: 'x'.repeat(257) }],
    ['a cursor that is no time', { cursor: -1 }],
  ])('answers 400 for %s', async (_what, query) => {
    const { error, response } = await getV2(sandbox.sandboxId, query);
    expect(response.status).toBe(400);
    expect(error).toMatchObject({ code: 400 });
  });

  it('of an unknown sandbox is 404', async () => {
    for (const { error, response } of [await getV1('i00000000000000000000'), await getV2('inone')]) {
      expect(response.status).toBe(404);
      expect(error).toMatchObject({ code: 404 });
    }
  });
});

describe('the life of a sandbox', () => {
  it('lasts from the start over a pause to the kill, with the processes in between', async () => {
    const short = await stack.createSandbox({ timeoutSeconds: 100 });
    const inside = await Sandbox.connect(short.sandboxId, stack.connection);
    await inside.commands.run('true # one');
    await untilLogged(short.sandboxId, '# one', 2);
    await inside.pause({ memory: false });
    const again = await Sandbox.connect(short.sandboxId, stack.connection);
    await again.commands.run('true # two');
    await untilLogged(short.sandboxId, '# two', 2);
    await short.kill();
    const told = (await logsOf(short.sandboxId)).map(
      ({ message, fields }) => `${fields.logger}: ${message}${/ # \w+$/.exec(fields.cmd ?? '')?.[0] ?? ''}`,
    );
    expect(told).toEqual([
      'agent: initialized',
      'platform: sandbox started',
      'process: process started # one',
      'process: process ended # one',
      'platform: sandbox paused',
      'agent: initialized',
      'platform: sandbox resumed',
      'process: process started # two',
      'process: process ended # two',
      'platform: sandbox killed',
    ]);
    const [end] = (await getV2(short.sandboxId, { limit: 1 })).data?.logs ?? [];
    expect(end).toMatchObject({ level: 'info', fields: { logger: 'platform', cause: 'killed' } });
  });

  it('goes on after a pause that keeps the processes, with none of it missing or twice', async () => {
    const kept = await stack.createSandbox({ timeoutSeconds: 100 });
    const inside = await Sandbox.connect(kept.sandboxId, stack.connection);
    const sleeping = await inside.commands.run('sleep 2 # over the pause', { background: true });
    await inside.commands.run('true # one');
    await inside.pause();
    await (await Sandbox.connect(kept.sandboxId, stack.connection)).commands.run('true # two');
    const ended = await untilLogged(kept.sandboxId, '# over the pause', 2);
    expect(ended.map(({ message, fields }) => `${fields.pid} ${message}`)).toEqual([
      `${sleeping.pid} process started`,
      `${sleeping.pid} process ended`,
    ]);
    for (const [command, times] of [
      ['# one', 2],
      ['# two', 2],
    ] as const) {
      expect(await untilLogged(kept.sandboxId, command, times)).toHaveLength(times);
    }
    const told = (await logsOf(kept.sandboxId)).filter(({ fields }) => fields.logger === 'platform');
    expect(told.map(({ message }) => message)).toEqual([
      'sandbox started',
      'sandbox paused',
      'sandbox resumed',
    ]);
    expect(told[1]?.fields.kept).toBe('memory');
    await kept.kill();
  });

  it('states how it ended when it was not killed by a request', async () => {
    const expired = await stack.createSandbox({ timeoutSeconds: 1 });
    const dying = await stack.createSandbox();
    const inside = await Sandbox.connect(dying.sandboxId, stack.connection);
    // The agent is killed with all others; no process is left to answer.
    await inside.commands.run('kill -9 -1', { user: 'root' }).catch(() => undefined);
    const [atItsEnd] = await untilLogged(expired.sandboxId, 'at the end of its time to live');
    expect(atItsEnd?.fields).toEqual({ logger: 'platform', cause: 'expired' });
    const [byItself] = await untilLogged(dying.sandboxId, 'ended by itself');
    expect(byItself).toMatchObject({ level: 'warn', fields: { logger: 'platform', cause: 'exited' } });
  });

  it('is complete and without doubles after the server was killed twice', async () => {
    const commands = Array.from({ length: 30 }, (_, index) => `true # kept-${index}.`);
    for (const [index, command] of commands.entries()) {
      if (index === 10 || index === 20) {
        await stack.kill();
        stack = await startStack({ dataDir });
        sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
      }
      await sdk.commands.run(command);
    }
    const logged = await untilLogged(sandbox.sandboxId, '# kept-', 60);
    const told = logged.map(({ message, fields }) => `${message} ${fields.cmd}`).toSorted();
    const expected = commands.flatMap((command) =>
      ['process ended', 'process started'].map((message) => `${message} /bin/bash -l -c ${command}`),
    );
    expect(told).toEqual(expected.toSorted());
  });
});

describe('skerry sandbox events', () => {
  const events = (...argv: string[]) =>
    runProgram(skerryProgram, ['sandbox', 'events', '--data', dataDir, ...argv]);

  it('prints an event a line, and only those that are asked for', async () => {
    const all = (await events(sandbox.sandboxId)).trim().split('\n');
    expect(all.length).toBe((await messagesOf(sandbox.sandboxId)).length);
    expect(all).toContainEqual(
      expect.stringMatching(/^\d{4}-[-\dT:.]+Z {2}info {3}platform {2}sandbox started$/),
    );
    const json = await events('--json', '--search', '# marked', sandbox.sandboxId);
    const [first] = json.split('\n').map((line) => JSON.parse(line || '{}') as Record<string, unknown>);
    expect(first).toMatchObject({ logger: 'process', message: 'process started', level: 'info' });
  });

  it('follows until the sandbox has ended, and shows no control characters', async () => {
    const short = await stack.createSandbox();
    const following = events('-f', short.sandboxId);
    const inside = await Sandbox.connect(short.sandboxId, stack.connection);
    await inside.commands.run("true # \u001b[31m'red'");
    await untilLogged(short.sandboxId, "'red'", 2);
    await short.kill();
    const lines = (await following).trim().split('\n');
    expect(lines.at(-1)).toMatch(/platform {2}sandbox killed {2}cause="killed"$/);
    expect(lines.filter((line) => line.includes("# \\u001b[31m'red'"))).toHaveLength(2);
    expect(lines.join('')).not.toContain('\u001b');
  });
});
