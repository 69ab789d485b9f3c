import type { KubeConfig, KubernetesListObject, KubernetesObject } from '@kubernetes/client-node';
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { MembershipError } from '../membership.ts';

/** A copy of the objects of an API server. While that is away the copy stays as it was. */
export interface WatchedObjects<T> {
  list(): readonly T[];
  /** Resolves with the first copy. Rejects with `MembershipError` when this program may not read the objects. */
  readonly ready: Promise<void>;
  close(): void;
}

/** Begins such a copy. `onChange` is called after each change of it. */
export type WatchObjects<T> = (options: {
  clock: Pick<Clock, 'after'>;
  log: Log;
  onChange(): void;
}) => WatchedObjects<T>;

/** An API server that is busy or hangs answers a list later, or never. */
const LIST_TIMEOUT_MS = 30_000;
/** Passes between a failure and the next try. */
const RETRY_MS = 1_000;

/** Returns what watches the objects at that path, with the informer of the client. */
export const createWatch =
  <T extends KubernetesObject>(
    { ListWatch, Watch }: typeof import('@kubernetes/client-node'),
    config: KubeConfig,
    {
      what,
      path,
      list,
      labelSelector,
    }: {
      /** Names them in log and errors, as in "pods of namespace x". */
      what: string;
      path: string;
      list(): Promise<KubernetesListObject<T>>;
      labelSelector?: string;
    },
  ): WatchObjects<T> =>
  ({ clock, log, onChange }) => {
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
    // A caller that closes before it has waited does not wait any more.
    ready.catch(() => undefined);
    let isClosed = false;
    let isFailing = false;
    let cancelRetry = (): void => {};

    const listInTime = async (): Promise<KubernetesListObject<T>> => {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new Error('no answer in time')), LIST_TIMEOUT_MS);
      try {
        const listed = await Promise.race([list(), late.promise]);
        // The informer takes the list over before that.
        setImmediate(resolve);
        return listed;
      } finally {
        clearTimeout(timer);
      }
    };
    const watch = new Watch(config);
    const begin = watch.watch.bind(watch);
    // The informer does not end a watch that begins while it stops.
    watch.watch = async (...request) => {
      const running = await begin(...request);
      if (isClosed) running.abort();
      return running;
    };
    const informer = new ListWatch<T>(path, watch, listInTime, false, labelSelector);

    const start = async (): Promise<void> => {
      const wasFailing = isFailing;
      isFailing = false;
      // A failure is an event.
      await informer.start();
      if (wasFailing && !isFailing && !isClosed) log.info('Kubernetes answers again', { what });
    };
    informer.on('change', onChange);
    informer.on('error', (cause: unknown) => {
      if (isClosed) return;
      isFailing = true;
      const error = explain(what, cause);
      if (error instanceof MembershipError) reject(error);
      log.warn('the watch of Kubernetes failed; it begins again', { what, error });
      cancelRetry = clock.after(RETRY_MS, () => void start());
    });
    void start();

    return {
      list: () => informer.list(),
      ready,
      close: () => {
        isClosed = true;
        cancelRetry();
        void informer.stop();
      },
    };
  };

/** What an operator has to change is a `MembershipError`. The errors of the client have the whole answer in their message. */
const explain = (what: string, error: unknown): unknown => {
  // Lists and watches of the client name it differently.
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const status = [code, statusCode].find((one) => typeof one === 'number');
  if (status === undefined) return error;
  const problem = `Kubernetes answers ${status} to a list or watch of ${what}`;
  return status === 401 || status === 403
    ? new MembershipError(`${problem}: allow it to the account of this server`, { cause: error })
    : new Error(problem, { cause: error });
};
