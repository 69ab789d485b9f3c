import { EventType, Filesystem, type WatchDirRequest } from '@skerry/envd-client/filesystem';
import { describe, expect, it } from 'vitest';
import { SandboxUnavailableError, TimeoutError } from '../errors.ts';
import { serveAgent } from '../testing/serve-agent.ts';
import { Files } from './files.ts';
import type { LostEvents } from './watch-handle.ts';

const started = { event: { case: 'start' as const, value: {} } };
const created = (name: string) => ({
  event: { case: 'filesystem' as const, value: { name, type: EventType.CREATE } },
});
const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Script {
  /** The names that each watch reports before its connection breaks; the last watch stays open. */
  watches: string[][];
  /** The response of `/health`. */
  health?: number;
  /** The number of watches after the first that break before they are active. */
  refusals?: number;
}

const serve = async ({ watches, health = 204, refusals = 0 }: Script) => {
  const asked: { request: WatchDirRequest; timeoutMs: number }[] = [];
  const left = [...watches];
  let refusing = refusals;
  const served = await serveAgent(
    (router) => {
      router.service(Filesystem, {
        async *watchDir(request, context) {
          asked.push({ request, timeoutMs: Number(context.requestHeader.get('connect-timeout-ms')) });
          const breakOff = (): void => void served.seen.at(-1)?.socket.destroy();
          if (asked.length > 1 && refusing-- > 0) return breakOff();
          yield started;
          for (const name of left.shift() ?? []) yield created(name);
          await delay(30);
          if (left.length > 0) breakOff();
          await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
        },
      });
    },
    (_request, response) => void response.writeHead(health).end(),
  );
  return { files: new Files(served.agent), asked };
};

describe('a watch whose connection breaks', () => {
  it('reconnects by itself when onEventsLost is set, and reports when the gap began', async () => {
    const { files, asked } = await serve({ watches: [['a', 'b'], [], ['c']], refusals: 2 });
    const told: (string | LostEvents)[] = [];
    const begunMs = Date.now();
    const onEventsLost = (lost: LostEvents): void => void told.push(lost);
    const handle = await files.watchDir('d', { recursive: true, includeEntry: true, onEventsLost });
    for await (const { name } of handle) {
      told.push(name);
      if (name === 'c') break;
    }
    const gap = { since: expect.any(Date) };
    expect(told).toEqual(['a', 'b', gap, gap, 'c']);
    const [first, second] = told
      .filter((each) => typeof each !== 'string')
      .map(({ since }) => since.getTime());
    expect(first).toBeGreaterThanOrEqual(begunMs);
    expect(second).toBeGreaterThan(first ?? 0);
    expect(second).toBeLessThanOrEqual(Date.now());
    expect(asked).toHaveLength(5);
    for (const { request } of asked)
      expect(request).toMatchObject({ path: 'd', recursive: true, includeEntry: true });
  });

  it('fails without onEventsLost, since events in between are lost', async () => {
    const { files, asked } = await serve({ watches: [['a'], ['b']] });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { name } of await files.watchDir('d')) seen.push(name);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'connection_failed' });
    expect([seen, asked.length]).toEqual([['a'], 1]);
  });

  it('reports the end of the sandbox', async () => {
    const { files, asked } = await serve({ watches: [['a'], ['b']], health: 502 });
    const onEventsLost = (): never => expect.unreachable();
    const exited = new Promise((resolve) => {
      files.watchDir('d', { onEvent: () => undefined, onExit: resolve, onEventsLost }).catch(resolve);
    });
    expect(await exited).toBeInstanceOf(SandboxUnavailableError);
    expect(asked).toHaveLength(1);
  });

  it('keeps its deadline, and ends at it', async () => {
    const { files, asked } = await serve({ watches: [['a'], ['b'], []] });
    const reading = (async () => {
      const options = { timeoutMs: 3_000, onEventsLost: () => undefined };
      for await (const _ of await files.watchDir('d', options));
    })();
    await expect(reading).rejects.toBeInstanceOf(TimeoutError);
    const [first = 0, second = 0, third = 0] = asked.map(({ timeoutMs }) => timeoutMs);
    expect([first, second < first, third < second, third > 0]).toEqual([3_000, true, true, true]);
  });

  it('ends without an error when it is stopped meanwhile, and with canceled when the call is aborted', async () => {
    const { files } = await serve({ watches: [['a'], []], refusals: 99 });
    const read = async (signal?: AbortSignal): Promise<string[]> => {
      const seen: string[] = [];
      const handle = await files.watchDir('d', { signal, onEventsLost: () => expect.unreachable() });
      for await (const { name } of handle) {
        seen.push(name);
        if (signal === undefined) setTimeout(() => handle.stop(), 300);
      }
      return seen;
    };
    expect(await read()).toEqual(['a']);
    const again = await serve({ watches: [['a'], []], refusals: 99 });
    const abort = new AbortController();
    const handle = await again.files.watchDir('d', { signal: abort.signal, onEventsLost: () => undefined });
    setTimeout(() => abort.abort(), 300);
    await expect(
      (async () => {
        for await (const _ of handle);
      })(),
    ).rejects.toMatchObject({ code: 'canceled' });
  });
});
