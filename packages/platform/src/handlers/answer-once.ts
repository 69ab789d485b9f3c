import { createHmac } from 'node:crypto';
import { ApiError, conflict, toApiError, toErrorBody, toErrorHeaders } from '@skerry/contract/error';
import { createTurns, type Turns } from '@skerry/contract/turns';
import type { Clock } from '../clock.ts';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import { readOperation } from '../http/document.ts';
import type { Log } from '../log.ts';
import type { FirstCall, KeptAnswer, KeyedCall } from '../store/idempotency/idempotency-rows.ts';
import type { Store } from '../store/store.ts';
import type { Caller, PlatformHandlers } from './platform-handlers.ts';

const HEADER = 'idempotency-key';

export interface AnswerOnceOptions {
  store: Pick<Store, 'beginCall' | 'keepAnswer' | 'forgetCall'>;
  clock: Pick<Clock, 'now'>;
  secret: string;
  log: Log;
}

interface Request {
  params: unknown;
  query: unknown;
  headers: Record<string, string | undefined>;
  body: unknown;
  context: Caller;
  signal: AbortSignal;
}
type Handler = (request: Request) => KeptAnswer | Promise<KeptAnswer>;

/**
 * Wraps the handlers of all operations that have the header `Idempotency-Key` in the document: of the calls of one caller with the same
 * key the first acts, and the others get its answer. The key is recorded before the call acts, so that a server that was killed in the
 * middle does not act again. An answer that asks the caller to try again, 429 or 503, means that nothing has changed: it is not kept.
 */
export const answerOnce = (handlers: PlatformHandlers, options: AnswerOnceOptions): PlatformHandlers => {
  const door = createDoor(options);
  const wrapped = Object.entries(handlers as unknown as Record<string, Handler>).map(([key, handle]) => {
    const mayHaveKey = readOperation(key).parameters.some(
      (parameter) => parameter.in === 'header' && parameter.name.toLowerCase() === HEADER,
    );
    return [key, mayHaveKey ? door(key, handle) : handle] as const;
  });
  return Object.fromEntries(wrapped) as unknown as PlatformHandlers;
};

const createDoor = ({ store, clock, secret, log }: AnswerOnceOptions) => {
  /** The first calls that this process is making. */
  const inProgress = new Set<string>();
  const claims = new Map<string, Turns>();

  /** One at a time for each id: a repeat that finds an unfinished call must know whether this process makes it. */
  const claim = async (call: Omit<KeyedCall, 'createdAt'>): Promise<FirstCall | undefined> => {
    const { id } = call;
    const turns = claims.get(id) ?? createTurns(1);
    claims.set(id, turns);
    try {
      return await turns.take(async () => {
        const first = await store.beginCall({ ...call, createdAt: clock.now() });
        if (first !== 'begun') return first;
        inProgress.add(id);
        return undefined;
      });
    } finally {
      if (turns.taken === 0) claims.delete(id);
    }
  };

  const keep = async (id: string, answer: KeptAnswer): Promise<void> => {
    try {
      if (answer.status === 429 || answer.status === 503) await store.forgetCall(id);
      else await store.keepAnswer(id, answer);
    } catch (error) {
      // The call has acted: its caller gets the answer, and repeats learn that the outcome is not known.
      log.error('the answer to a call with an Idempotency-Key was not recorded', { error });
    }
  };

  const act = async (id: string, handle: Handler, request: Request): Promise<KeptAnswer> => {
    try {
      // A caller that disconnects may repeat the call, and gets the answer then.
      const answer = await handle({ ...request, signal: new AbortController().signal });
      await keep(id, answer);
      return answer;
    } catch (error) {
      // Another server makes the call, with the same key.
      if (error instanceof ElsewhereError) await store.forgetCall(id);
      else await keep(id, toAnswer(error));
      throw error;
    } finally {
      inProgress.delete(id);
    }
  };

  return (operation: string, handle: Handler): Handler =>
    async (request) => {
      const { params, query, headers, body, context } = request;
      const key = headers[HEADER];
      if (key === undefined) return handle(request);
      const hash = (value: unknown): string =>
        createHmac('sha256', secret).update(JSON.stringify(value)).digest('hex');
      const id = hash(['idempotency key', context.apiKey, key]);
      const fingerprint = hash([operation, params, query, body ?? null]);
      const first = await claim({ id, fingerprint, caller: context.keyId ?? '' });
      if (first === undefined) return act(id, handle, request);
      if (first.fingerprint !== fingerprint) throw mismatch();
      if (first.answer !== null) return first.answer;
      throw inProgress.has(id) || first.isElsewhere ? stillRunning() : outcomeUnknown();
    };
};

const toAnswer = (error: unknown): KeptAnswer => ({
  status: toApiError(error).status,
  headers: toErrorHeaders(error),
  body: toErrorBody(error),
});

const mismatch = (): ApiError =>
  conflict('this Idempotency-Key was used for another request: use a new key for each new request', {
    reason: 'idempotency_request_mismatch',
  });

const stillRunning = (): ApiError =>
  conflict('the first request with this Idempotency-Key is still running: repeat it in a moment', {
    reason: 'idempotency_in_progress',
    headers: { 'Retry-After': '1' },
  });

const outcomeUnknown = (): ApiError =>
  new ApiError(
    'outcome_unknown',
    'the server stopped during the first request with this Idempotency-Key, which may have acted: look at the list, and use a new key to try again',
    { reason: 'idempotency_outcome_unknown' },
  );
