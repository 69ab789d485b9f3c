import { createSignature } from '@skerry/envd-client';
import { type LogEntry, Sandbox } from '@skerry/sdk';
import { describe, expect, it, vi } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { rawBody } from './plain-calls.ts';
import { begin, sh } from './process-events.ts';

const MIB = 2 ** 20;
const variables = { GREETING: 'größer', EMPTY: '', MULTI: 'a\nb="c"' };

interface Metrics {
  ts: number;
  cpu_count: number;
  cpu_used_pct: number;
  mem_total: number;
  mem_used: number;
  mem_cache: number;
  mem_total_mib: number;
  mem_used_mib: number;
  disk_used: number;
  disk_total: number;
}

testAgents(
  (agent) => {
    const { call, refusal } = agent.plain;

    const measure = async (): Promise<Metrics> => {
      const { status, headers, text } = await call('GET /metrics');
      expect([status, headers['content-type']]).toEqual([200, 'application/json']);
      return JSON.parse(text) as Metrics;
    };

    describe('the use of a sandbox, which its host measures', () => {
      agent.needs('platform');

      it('rule 5.2-6: GET /metrics answers a new sandbox with its limits and with what it uses', async () => {
        const made = await agent.another();
        const before = Math.floor(Date.now() / 1000);
        const metrics = JSON.parse((await made.plain.call('GET /metrics')).text) as Metrics;
        expect(Object.keys(metrics).toSorted()).toEqual(
          [
            'cpu_count',
            'cpu_used_pct',
            'disk_total',
            'disk_used',
            'mem_cache',
            'mem_total',
            'mem_total_mib',
            'mem_used',
            'mem_used_mib',
            'oom_kills',
            'ts',
          ].toSorted(),
        );
        expect(metrics).toMatchObject({
          cpu_count: 2,
          mem_total: 1024 * MIB,
          mem_total_mib: 1024,
          mem_used_mib: Math.floor(metrics.mem_used / MIB),
          disk_total: 2048 * MIB,
        });
        expect(metrics.ts).toBeGreaterThanOrEqual(before);
        expect(metrics.ts).toBeLessThanOrEqual(Date.now() / 1000);
        expect(metrics.mem_used).toBeGreaterThan(5 * MIB);
        expect(metrics.mem_used).toBeLessThan(256 * MIB);
        expect(metrics.disk_used).toBeGreaterThan(0);
        await made.end();
      });

      it('rule 5.2-6: GET /metrics follows the sandbox and not its host: processors, memory, files in memory, disk', async () => {
        const quiet = await measure();
        expect(quiet.cpu_used_pct).toBeGreaterThanOrEqual(0);
        const script = `b = bytearray(200 * 2**20)
while True: pass`;
        const busy = await begin(agent.client.process.start(sh(`exec python3 -c '${script}'`)));
        await agent.run('head -c 80000000 /dev/urandom > /tmp/fill; sync');
        const loaded = await vi.waitUntil(
          async () => {
            const now = await measure();
            const hasWritten = now.disk_used - quiet.disk_used > 75_000_000;
            return hasWritten && now.mem_used - quiet.mem_used > 190 * MIB && now.cpu_used_pct > 2 && now;
          },
          { timeout: 60_000, interval: 1_200 },
        );
        await agent.kill(busy.pid);
        // One of two processors, or what the host has left of it.
        expect(loaded.cpu_used_pct).toBeLessThanOrEqual(75);
        expect(loaded.mem_cache - quiet.mem_cache).toBeGreaterThan(50_000_000);
        await vi.waitUntil(async () => (await measure()).mem_used - quiet.mem_used < 50 * MIB, {
          timeout: 60_000,
          interval: 1_200,
        });
      });

      it('rule 5.2-6: GET /metrics answers many concurrent requests with one measurement', async () => {
        const begunMs = performance.now();
        const answers = await Promise.all(Array.from({ length: 50 }, measure));
        const tookSeconds = (performance.now() - begunMs) / 1_000;
        // At most one a second.
        const readings = new Set(answers.map((answer) => JSON.stringify(answer))).size;
        expect(readings).toBeLessThanOrEqual(2 + Math.floor(tookSeconds));
      });
    });

    it('rule 5.2-7: GET /envs answers exactly the variables that the sandbox was created with', async () => {
      const { status, headers, text } = await call('GET /envs');
      expect([status, headers['content-type'], JSON.parse(text)]).toEqual([
        200,
        'application/json',
        variables,
      ]);
      const other = await agent.another();
      expect((await other.plain.call('GET /envs')).text).toBe('{}');
      await other.end();
    });

    it.each(['/metrics', '/envs'])(
      'rule 5.2-6, 5.2-7: GET %s needs the token, no signature opens it, and it answers no other method',
      async (path) => {
        expect(await refusal(`GET ${path}`, { token: null })).toEqual({
          status: 401,
          message: 'missing X-Access-Token header',
        });
        expect(await refusal(`GET ${path}`, { token: 'wrong' })).toEqual({
          status: 401,
          message: 'invalid access token',
        });
        const signature = await createSignature({
          path: '',
          operation: 'read',
          user: '',
          accessToken: agent.accessToken,
        });
        const signed = await refusal(`GET ${path}?${new URLSearchParams({ signature })}`, {
          token: null,
        });
        expect(signed.status).toBe(401);
        expect(await refusal(`POST ${path}`)).toEqual({ status: 405, message: `${path} supports only GET` });
      },
    );

    describe('the log of a sandbox', () => {
      agent.needs('platform');

      it('rule 10-48: a flood of log entries takes bounded memory, delays no call, and lost entries are counted', async () => {
        const sdk = await Sandbox.connect(agent.sandboxId, agent.stack.connection);
        const readMemory = (): number => agent.findProcess().ownBytes() / MIB;
        const before = readMemory();
        const count = 3_000;
        // Each is refused, with a message that names the path, and leaves an entry of nearly a kilobyte.
        const refuse = async (number: number): Promise<void> => {
          const path = `~nobody/flood-${number}-${'x'.repeat(500)}`;
          const route = `POST /files?${new URLSearchParams({ path })}`;
          expect((await call(route, { headers: rawBody, body: 'x' })).status).toBe(400);
        };
        const begunMs = performance.now();
        for (let sent = 0; sent < count; sent += 50) {
          await Promise.all(Array.from({ length: 50 }, (_, index) => refuse(sent + index)));
        }
        const floodSeconds = (performance.now() - begunMs) / 1_000;
        expect(readMemory()).toBeLessThan(before + 40);
        const read = async () => {
          const refusals = await readAll(sdk, 'flood-');
          const gaps = await readAll(sdk, 'log entries of the sandbox were lost');
          const lost = gaps.map(({ message }) => Number.parseInt(message, 10));
          return { logged: refusals.length, lost: lost.reduce((sum, each) => sum + each, 0) };
        };
        const { logged, lost } = await vi.waitUntil(
          async () => {
            const found = await read();
            return found.logged + found.lost >= count && found;
          },
          { timeout: 60_000, interval: 1_000 },
        );
        // What is read at once and during the flood, kept by the agent, and in buffers. On a slow machine that may be all entries.
        const mostKept = ((1024 + 48 * floodSeconds) * 1024) / 800;
        expect(lost).toBeGreaterThanOrEqual(Math.max(0, count - mostKept));
        expect(logged).toBeGreaterThan(500);
        expect(logged + lost).toBeLessThan(count + 50);
      });
    });
  },
  { envVars: variables },
);

/** Entries that differ from each other, from any number of pages: one begins with the last millisecond of the one before. */
async function readAll(sdk: Sandbox, search: string): Promise<LogEntry[]> {
  const all = new Map<string, LogEntry>();
  let from = new Date(0);
  for (;;) {
    const page = await sdk.getLogs({ search, from, direction: 'forward' });
    for (const entry of page) all.set(JSON.stringify(entry), entry);
    if (page.length < 1000) return [...all.values()];
    from = page.at(-1)?.timestamp ?? from;
  }
}
