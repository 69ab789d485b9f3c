import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError, notFound } from '@skerry/contract/error';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import { documentPaths } from '../http/document.ts';
import { createStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { answerOnce } from './answer-once.ts';
import type { PlatformHandlers } from './platform-handlers.ts';

const { log } = createRecordingLog();
let folder: string;
let stores: Store[];
let at = 1;
const open = async (): Promise<Store> => {
  const store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
  stores.push(store);
  return store;
};
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skerry-once-'));
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  await rm(folder, { recursive: true });
});

/** A handler behind the door of a server, and how to call it. */
const serve = (store: Store, act: (request: { signal: AbortSignal }) => Promise<unknown>) => {
  const route = 'POST /v2/sandboxes';
  const handlers = { [route]: act } as unknown as PlatformHandlers;
  const wrapped = answerOnce(handlers, { store, clock: { now: () => at++ }, secret: 's', log });
  const handle = wrapped[route] as unknown as (request: object) => Promise<unknown>;
  return (
    key: string | undefined,
    { templateID = 'base', apiKey = 'a', signal = undefined as unknown } = {},
  ) =>
    handle({
      ...{ params: {}, query: {}, headers: { 'idempotency-key': key }, body: { templateID } },
      ...{ context: { apiKey }, signal: signal ?? new AbortController().signal },
    });
};
const counting = () => {
  let count = 0;
  return vi.fn(async () => ({ status: 201, body: { sandboxID: `i${++count}` } }));
};

it('acts once for each key and caller, and repeats the answer after a restart', async () => {
  const act = counting();
  const call = serve(await open(), act);
  const first = await call('k');
  expect(await call('k')).toEqual(first);
  expect(await serve(await open(), act)('k')).toEqual(first);
  expect(act).toHaveBeenCalledTimes(1);
  expect(await call('k2')).not.toEqual(first);
  expect(await call('k', { apiKey: 'b' })).not.toEqual(first);
  expect(await call(undefined)).not.toEqual(await call(undefined));
});

it('refuses another request with the same key', async () => {
  const call = serve(await open(), counting());
  await call('k');
  await expect(call('k', { templateID: 'other' })).rejects.toMatchObject({
    ...{ status: 409, reason: 'idempotency_request_mismatch' },
  });
});

it('refuses repeats while the first call is running, and gives them its answer then', async () => {
  const gate = Promise.withResolvers<unknown>();
  const act = vi.fn(() => gate.promise);
  const call = serve(await open(), act);
  const calls = [call('k'), call('k'), call('k')];
  const running = { status: 409, reason: 'idempotency_in_progress', headers: { 'Retry-After': '1' } };
  for (const repeat of calls.slice(1)) await expect(repeat).rejects.toMatchObject(running);
  const mismatch = { reason: 'idempotency_request_mismatch' };
  await expect(call('k', { templateID: 'other' })).rejects.toMatchObject(mismatch);
  const answer = { status: 201, body: { sandboxID: 'i1' } };
  gate.resolve(answer);
  expect(await calls[0]).toEqual(answer);
  expect(await call('k')).toEqual(answer);
  expect(act).toHaveBeenCalledTimes(1);
});

it('repeats errors with their body, but not those after which nothing has changed', async () => {
  const errors = [
    new ApiError('unavailable', 'full'),
    new ApiError('resource_exhausted', 'too many'),
    notFound('no such template'),
  ];
  const call = serve(await open(), async () => {
    throw errors.shift() ?? new Error('acted again');
  });
  await expect(call('k')).rejects.toMatchObject({ status: 503 });
  await expect(call('k')).rejects.toMatchObject({ status: 429 });
  await expect(call('k')).rejects.toMatchObject({ status: 404 });
  const body = { code: 404, message: 'no such template' };
  expect(await call('k')).toMatchObject({ status: 404, body });
});

it('does not act again when the server was killed in the middle', async () => {
  const never = serve(await open(), () => new Promise(() => {}));
  void never('k');
  await expect(never('k')).rejects.toMatchObject({ reason: 'idempotency_in_progress' });
  const act = counting();
  const unknown = { status: 422, reason: 'idempotency_outcome_unknown' };
  await expect(serve(await open(), act)('k')).rejects.toMatchObject(unknown);
  expect(act).not.toHaveBeenCalled();
});

it('goes on when the caller disconnects, and leaves no trace of a call that another server makes', async () => {
  const left = AbortSignal.abort();
  const act = vi.fn(async ({ signal }: { signal: AbortSignal }) => ({ status: signal.aborted ? 504 : 201 }));
  expect(await serve(await open(), act)('k', { signal: left })).toEqual({ status: 201 });
  const store = await open();
  const away = serve(store, () => Promise.reject(new ElsewhereError('other:1')));
  await expect(away('k2')).rejects.toThrow(ElsewhereError);
  expect(await serve(store, counting())('k2')).toMatchObject({ status: 201 });
});

it('guards each operation that has the header in the document', () => {
  const keyed = Object.entries(documentPaths).flatMap(([path, { post }]) =>
    post?.parameters?.some(({ name }) => name === 'Idempotency-Key') ? [`POST ${path}`] : [],
  );
  expect(keyed.toSorted()).toEqual([
    'POST /sandboxes',
    'POST /sandboxes/{sandboxID}/fork',
    'POST /sandboxes/{sandboxID}/snapshots',
    'POST /v2/sandboxes',
    'POST /v2/sandboxes/{sandboxID}/fork',
  ]);
});
