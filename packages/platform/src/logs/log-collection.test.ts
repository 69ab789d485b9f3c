import { createServer, type ServerResponse } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createSystemClock } from '../clock.ts';
import type { LogSource, NewLogEntry } from '../store/log-rows.ts';
import type { SandboxRow } from '../store/rows.ts';
import { createLogCollection, type LogCollection } from './log-collection.ts';

const row = { id: 'i1', createdAt: Date.now() - 60_000 } as SandboxRow;
const silent = (): void => {};
const log = { debug: silent, info: silent, warn: silent, error: silent };

/** An in-memory store: its content outlives a log collection. */
const createMemoryStore = () => {
  const entries: NewLogEntry[] = [];
  const sources = new Map<string, LogSource>();
  return {
    entries,
    sources,
    failures: 0,
    async addLogEntries(added: readonly NewLogEntry[], read: readonly LogSource[]) {
      if (this.failures > 0) {
        this.failures -= 1;
        throw new Error('the disk is not available');
      }
      entries.push(...added);
      for (const source of read) sources.set(source.sandboxId, source);
    },
    findLogSource: async (id: string) => sources.get(id),
    listLogEntries: async () => entries,
    deleteLogEntries: async () => {},
  };
};

/** The private channel of an agent that sends the given lines. */
const createAgent = (answer: (response: ServerResponse, url: URL) => void) => {
  const asked: string[] = [];
  const open = new Set<Duplex>();
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(200);
    answer(response, new URL(request.url ?? '', 'http://agent'));
  });
  const control = async (): Promise<Duplex> => {
    const [near, far] = duplexPair();
    open.add(near);
    near.once('close', () => open.delete(near));
    server.emit('connection', far);
    return near;
  };
  return { asked, open, instance: { control } };
};

const line = (seq: number, change: object = {}): string =>
  `${JSON.stringify({ seq, timestamp: Date.now(), level: 'info', logger: 'process', message: `m${seq}`, fields: {}, ...change })}\n`;
const origin = (name: string): string => `{"origin":"${name}"}\n`;

const collections: LogCollection[] = [];
const start = (store: ReturnType<typeof createMemoryStore>, answerUsage = async (): Promise<void> => {}) => {
  const logCollection = createLogCollection({ store, clock: createSystemClock(), log, answerUsage });
  collections.push(logCollection);
  return logCollection;
};
afterEach(async () => {
  for (const logCollection of collections.splice(0)) await logCollection.close();
});
const messages = ({ entries }: { entries: readonly NewLogEntry[] }): string[] =>
  entries.map(({ message }) => message);

describe('log collection', () => {
  it('writes entries in the order of arrival, and continues at its position after a restart', async () => {
    const store = createMemoryStore();
    const agent = createAgent((response, url) => {
      const after = url.searchParams.get('after');
      response.write(origin('a'));
      // The agent repeats some entries, which the protocol allows.
      response.write(after === 'a:3' ? line(3) + line(4) : line(1) + line(2) + line(3));
    });
    const first = start(store);
    first.begin(row, agent.instance);
    await expect.poll(() => messages(store)).toEqual(['m1', 'm2', 'm3']);
    await first.close();
    await expect.poll(() => agent.open.size).toBe(0);
    start(store).begin(row, agent.instance);
    await expect.poll(() => messages(store)).toEqual(['m1', 'm2', 'm3', 'm4']);
    expect(agent.asked).toEqual(['/logs?follow=true', '/logs?after=a%3A3&follow=true']);
    expect(store.sources.get('i1')).toEqual({ sandboxId: 'i1', origin: 'a', seq: 4 });
  });

  it('fetches the remaining entries when a sandbox ends, and all of them after a short life', async () => {
    const store = createMemoryStore();
    const agent = createAgent((response) => response.end(origin('a') + line(1) + line(2)));
    const logCollection = start(store);
    logCollection.begin(row, agent.instance);
    logCollection.end('i1');
    await logCollection.fetched('i1');
    expect(await logCollection.list({ sandboxId: 'i1', order: 'asc', limit: 9 })).toHaveLength(2);
    expect(agent.asked).toEqual(['/logs?follow=false']);
    expect(agent.open.size).toBe(0);
  });

  it('does not delay the end of a sandbox whose agent does not respond', async () => {
    const agent = createAgent(() => {});
    const logCollection = start(createMemoryStore());
    logCollection.begin(row, agent.instance);
    logCollection.end('i1');
    // Without a limit it would wait forever.
    await logCollection.fetched('i1');
    expect(agent.open.size).toBe(0);
  });

  it('counts entries that the agent dropped, and starts over with another numbering', async () => {
    const store = createMemoryStore();
    const agent = createAgent((response) => {
      response.end(origin('a') + line(1) + line(10) + origin('b') + line(1));
    });
    const logCollection = start(store);
    logCollection.begin(row, agent.instance);
    logCollection.end('i1');
    await logCollection.fetched('i1');
    await logCollection.list({ sandboxId: 'i1', order: 'asc', limit: 9 });
    expect(messages(store)).toEqual(['m1', '8 log entries of the sandbox were lost', 'm10', 'm1']);
    expect(store.entries[1]).toMatchObject({ level: 'warn', logger: 'log' });
  });

  it('rejects times before the previous entry or in the future, and counts every byte', async () => {
    const store = createMemoryStore();
    const agent = createAgent((response) => {
      const change = { timestamp: Date.now() - 1_000 };
      const early = { timestamp: 0 };
      const late = { timestamp: Date.now() + 1e9 };
      response.end(origin('a') + line(1, change) + line(2, early) + line(3, late) + line(4, early));
    });
    const logCollection = start(store);
    logCollection.begin(row, agent.instance);
    logCollection.end('i1');
    await logCollection.fetched('i1');
    await logCollection.list({ sandboxId: 'i1', order: 'asc', limit: 9 });
    const times = store.entries.map(({ at }) => at);
    expect(times).toHaveLength(4);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times[1]).toBe(times[0]);
    expect(times[3]).toBeLessThanOrEqual(Date.now());
    for (const { sizeBytes } of store.entries) expect(sizeBytes).toBeGreaterThan(64);
  });

  it('reads a flood at the rate limit, and disconnects from one without line ends', async () => {
    const store = createMemoryStore();
    let seq = 0;
    let sentBytes = 0;
    const flood = (response: ServerResponse): void => {
      for (let more = true; more; ) {
        seq += 1;
        const text = line(seq, { message: 'f'.repeat(900) });
        sentBytes += text.length;
        more = response.write(text) && sentBytes < 2 ** 24;
      }
    };
    const agent = createAgent((response) => {
      if (agent.asked.length === 1) {
        response.write('x'.repeat(2 ** 20));
        return;
      }
      response.write(origin('a'));
      response.on('drain', () => flood(response));
      flood(response);
    });
    const logCollection = start(store);
    logCollection.begin(row, agent.instance);
    const begunMs = performance.now();
    await expect.poll(() => store.entries.length).toBeGreaterThan(50);
    await delay(2_000);
    const bytes = store.entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    // The amount allowed at once and in these seconds, and the content of buffers between the two.
    const mostBytes = 2 ** 19 + ((performance.now() - begunMs) / 1_000) * 2 ** 16;
    expect(bytes).toBeLessThan(mostBytes);
    expect(sentBytes).toBeLessThan(mostBytes + 2 ** 18);
    expect(agent.asked.length).toBe(2);
  });

  it('retries a write when the disk was not available, and drops a batch that fails every time', async () => {
    const store = createMemoryStore();
    store.failures = 1;
    const agent = createAgent((response) => response.end(origin('a') + line(1)));
    const logCollection = start(store);
    logCollection.begin(row, agent.instance);
    logCollection.end('i1');
    await logCollection.fetched('i1');
    expect(await logCollection.list({ sandboxId: 'i1', order: 'asc', limit: 9 })).toHaveLength(1);
  });

  it('answers an agent that asks all the time a few times a second, and never concurrently', async () => {
    let answers = 0;
    let underWay = 0;
    const agent = createAgent((response) => {
      response.write(origin('a'));
      const asking = setInterval(() => response.write('{"ask":"usage"}\n'.repeat(100)), 5);
      response.once('close', () => clearInterval(asking));
    });
    const logCollection = start(createMemoryStore(), async () => {
      answers += 1;
      underWay += 1;
      await delay(1);
      expect(underWay).toBe(1);
      underWay -= 1;
    });
    logCollection.begin(row, agent.instance);
    const begunMs = performance.now();
    await expect.poll(() => answers).toBeGreaterThan(3);
    expect(answers).toBeLessThanOrEqual((performance.now() - begunMs) / 190);
  });

  it('opens 16 logs at a time, and at once that of a sandbox that has ended', async () => {
    const agent = createAgent((response, url) => {
      if (url.searchParams.get('follow') === 'true') response.write(origin('a'));
      else response.end(origin('a') + line(1));
    });
    const ids = Array.from({ length: 20 }, (_, number) => `i${number}`);
    const opened: string[] = [];
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const store = createMemoryStore();
    const logCollection = start(store);
    for (const id of ids) {
      const control = async (): Promise<Duplex> => {
        opened.push(id);
        if (opened.length <= 16) await gate;
        return agent.instance.control();
      };
      logCollection.begin({ ...row, id }, { control });
    }
    await expect.poll(() => opened.length, { timeout: 5_000 }).toBe(16);
    const waiting = ids.filter((id) => !opened.includes(id));
    const [ended = ''] = waiting;
    logCollection.end(ended);
    await logCollection.fetched(ended);
    await logCollection.list({ sandboxId: ended, order: 'asc', limit: 9 });
    expect(messages(store)).toEqual(['m1']);
    expect(opened.slice(16)).toEqual([ended]);
    open();
    await expect.poll(() => opened.slice(16).sort(), { timeout: 5_000 }).toEqual(waiting.sort());
  });
});
