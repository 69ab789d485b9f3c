import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ sandboxId: 'i1', envVars: { A: 'ä' } });
});
afterAll(() => agent.stop());

interface Line {
  origin?: string;
  ask?: string;
  seq?: number;
  message?: string;
  fields?: Record<string, string>;
}

const follow = async (query = '') => {
  const outgoing = request({
    socketPath: join(agent.socketDir, 'control.sock'),
    path: `/logs?follow=true${query}`,
  });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const lines = createInterface({ input: response })[Symbol.asyncIterator]();
  return {
    next: async (): Promise<Line> => JSON.parse((await lines.next()).value ?? 'null') as Line,
    close: () => outgoing.destroy(),
  };
};
const readAll = async (query = ''): Promise<Line[]> => {
  const { status, body } = await agent.http({ path: `/logs${query}`, socket: 'control.sock' });
  expect(status).toBe(200);
  return body
    .toString()
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as Line);
};
const run = (...args: string[]) =>
  collectOutput(agent.processes().start({ process: { cmd: args[0] ?? '', args: args.slice(1) }, tag: 't' }));

describe('GET /logs of the control channel', () => {
  it('sends what the host does not have yet, and everything when it names another origin', async () => {
    await run('sh', '-c', 'exit 3');
    const [first, ...lines] = await readAll();
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index + 1));
    const [started, ended] = lines.slice(-2);
    expect(started).toMatchObject({
      message: 'process started',
      fields: { cmd: 'sh -c exit 3', tag: 't', user: 'root' },
    });
    expect(ended).toMatchObject({
      message: 'process ended',
      fields: { exitCode: '3', status: 'exit status 3' },
    });
    const after = lines.length - 1;
    expect(await readAll(`?after=${first?.origin}:${after}`)).toEqual([first, ended]);
    for (const other of ['another:1', `${first?.origin}:-1`, `${first?.origin}`, '']) {
      expect(await readAll(`?after=${other}`)).toEqual([first, ...lines]);
    }
  });

  it('goes on with what comes, to the newest follower alone', async () => {
    const had = (await readAll()).length - 1;
    const old = await follow();
    const { origin } = await old.next();
    const follower = await follow(`&after=${origin}:${had}`);
    await follower.next();
    await run('/no/such/program', 'x'.repeat(2_000));
    const [started, ended] = [await follower.next(), await follower.next()];
    expect(started.seq).toBe(had + 1);
    expect(started.fields?.cmd).toHaveLength(501);
    expect(ended.fields).toMatchObject({ exitCode: '127', pid: started.fields?.pid });
    old.close();
    await run('true');
    expect((await follower.next()).seq).toBe(had + 3);
    follower.close();
  });

  it('holds no variables, and begins anew for another sandbox', async () => {
    await collectOutput(agent.processes().start({ process: { cmd: 'true', envs: { SECRET: 'hidden' } } }));
    const text = JSON.stringify(await readAll());
    expect(text).not.toMatch(/hidden|ä/);
    const follower = await follow();
    const { origin } = await follower.next();
    await agent.initialize({ sandboxId: 'i2', envVars: {} });
    const [first, ...lines] = await readAll();
    expect(first?.origin).not.toBe(origin);
    expect(lines.map(({ message }) => message)).toEqual(['initialized']);
    follower.close();
  });
});

describe('GET /metrics', () => {
  const usage = {
    timestampMs: 1_795_168_805_900,
    cpuCount: 2,
    cpuUsedPct: 12.5,
    memoryTotalBytes: 2 ** 30,
    memoryUsedBytes: 70 * 2 ** 20 + 5,
    memoryCacheBytes: 3,
    diskTotalBytes: 2 ** 31,
    diskUsedBytes: 4,
  };
  const tell = (body: unknown) =>
    agent.http({ method: 'POST', path: '/usage', socket: 'control.sock', body: JSON.stringify(body) });
  const untilAsked = async (follower: Awaited<ReturnType<typeof follow>>): Promise<void> => {
    while ((await follower.next()).ask !== 'usage');
  };

  it('answers with the figures of the host, fetched once for all waiting callers', async () => {
    const follower = await follow();
    const answers = Promise.all([agent.http({ path: '/metrics' }), agent.http({ path: '/metrics' })]);
    await untilAsked(follower);
    expect((await tell(usage)).status).toBe(204);
    for (const { status, json } of await answers) {
      expect([status, json]).toEqual([
        200,
        {
          ts: 1_795_168_805,
          cpu_count: 2,
          cpu_used_pct: 12.5,
          mem_total: 2 ** 30,
          mem_used: 70 * 2 ** 20 + 5,
          mem_cache: 3,
          mem_total_mib: 1024,
          mem_used_mib: 70,
          disk_used: 4,
          disk_total: 2 ** 31,
        },
      ]);
    }
    follower.close();
  });

  it('numbers the kills of the memory limit that the host has counted, at most the last hundred', async () => {
    const follower = await follow();
    const kills = async (oomKills: unknown) => {
      const answer = agent.http({ path: '/metrics' });
      await untilAsked(follower);
      expect((await tell({ ...usage, oomKills })).status).toBe(204);
      const { oom_kills } = (await answer).json as { oom_kills: { seq: number; process: string }[] };
      return oom_kills;
    };
    expect(await kills(0)).toEqual([]);
    expect(await kills(2)).toEqual([
      { seq: 1, process: '' },
      { seq: 2, process: '' },
    ]);
    const many = await kills(1_000_000);
    expect([many.length, many[0]?.seq, many[99]?.seq]).toEqual([100, 999_901, 1_000_000]);
    expect((await tell({ ...usage, oomKills: '2' })).status).toBe(400);
    follower.close();
  });

  it('waits for a host that connects later, and answers 503 when none does', async () => {
    const answer = agent.http({ path: '/metrics' });
    const follower = await follow();
    await untilAsked(follower);
    await tell(usage);
    expect((await answer).status).toBe(200);
    follower.close();
    const { status, json } = await agent.http({ path: '/metrics' });
    expect([status, json]).toEqual([
      503,
      {
        code: 503,
        message: 'the host did not report the usage of this sandbox',
        error_code: 'temporarily_unavailable',
      },
    ]);
  });

  it('refuses an answer without its figures, and ignores an unsolicited one', async () => {
    const { status, json } = await tell({ ...usage, diskUsedBytes: '4' });
    expect([status, json]).toEqual([400, { code: 400, message: 'diskUsedBytes must be a number' }]);
    expect((await tell(null)).status).toBe(400);
    expect((await tell(usage)).status).toBe(204);
  });
});
