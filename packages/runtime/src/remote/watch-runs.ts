import { EventEmitter, on } from 'node:events';
import type { AddressedRuntime } from '../drivers/guest-socket.ts';
import { isRuntimeError } from '../error.ts';
import type { WatchRequest } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { parseRun, type Run } from './messages.ts';

/** Sends each requested run when it has ended, until the signal aborts. `onError` is called with the error of a run that cannot be watched. */
export async function* watchRuns(
  runtime: AddressedRuntime,
  requests: AsyncIterable<WatchRequest>,
  { signal, onError }: { signal: AbortSignal; onError: (error: Error) => void },
): AsyncGenerator<{ run: Run }> {
  const events = new EventEmitter<{ end: [Run]; error: [unknown] }>();
  // An error may also come after the last reader has left.
  events.on('error', () => undefined);
  const ends = on(events, 'end', { signal }) as AsyncIterable<[Run]>;
  const stops = new Set<() => void>();

  const watch = async (run: Run): Promise<void> => {
    const tell = (): void => {
      stops.delete(stop);
      events.emit('end', run);
    };
    let stop = (): void => undefined;
    try {
      const instance = await runtime.get(run.instance);
      if (instance.runId !== run.runId) return tell();
      if (signal.aborted) return;
      stop = instance.onExit(tell);
      stops.add(stop);
    } catch (error) {
      if (!isRuntimeError(error, 'not_found')) throw error;
      tell();
    }
  };
  const readAll = async (): Promise<void> => {
    for await (const request of requests) watch(parseRun(request)).catch(onError);
  };
  const fail = (error: unknown): void => void events.emit('error', error);

  readAll().catch(fail);
  try {
    for await (const [run] of ends) yield { run };
  } finally {
    for (const stop of stops) stop();
  }
}
