import { type Clock, passTime } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { MembershipError } from '../membership.ts';

/** What every object of Kubernetes has and this program needs. */
export interface Named {
  metadata?: { name?: string | undefined; resourceVersion?: string | undefined };
}

/** One change, as the API server sends it. `BOOKMARK` only says up to which version there was none. */
export interface Change<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: T;
}

/** One kind of objects of an API server. */
export interface Resource<T> {
  list(signal: AbortSignal): Promise<{ items: T[]; resourceVersion: string }>;
  /**
   * Calls `onChange` with all changes after that version. Resolves when the watch has ended without a failure, and can begin again where
   * it was. Rejects otherwise, also when the API server does not have that version any more.
   */
  watch(resourceVersion: string, onChange: (change: Change<T>) => void, signal: AbortSignal): Promise<void>;
}

/** A copy of the objects of an API server. While that is away the copy stays as it was. */
export interface Reflector<T> {
  readonly items: ReadonlyMap<string, T>;
  /** Resolves with the first copy. Rejects with `MembershipError` when this program may not read the objects. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** Even where watches end at once, so long passes between two. */
const LEAST_PAUSE_MS = 100;
const MOST_PAUSE_MS = 10_000;

/** The pause after so many failures in a row. */
const toPause = (failures: number): number => Math.min(LEAST_PAUSE_MS * 2 ** failures, MOST_PAUSE_MS);

/**
 * Lists the objects and follows their changes until `close`. A watch that ends begins again where it was. After one that fails, as when
 * the API server has lost its version, all objects are listed again.
 */
export const createReflector = <T extends Named>({
  what,
  resource,
  clock,
  log,
  onChange,
}: {
  /** For log and errors, as in "pods of namespace x". */
  what: string;
  resource: Resource<T>;
  clock: Pick<Clock, 'after'>;
  log: Log;
  /** Called after each change of the copy. */
  onChange(): void;
}): Reflector<T> => {
  const items = new Map<string, T>();
  const closing = new AbortController();
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  // A caller that closes before it has waited does not wait any more.
  ready.catch(() => undefined);
  let version: string | undefined;
  let failures = 0;

  const replace = (listed: readonly T[]): void => {
    items.clear();
    for (const item of listed) items.set(item.metadata?.name ?? '', item);
    onChange();
  };

  const apply = ({ type, object }: Change<T>): void => {
    failures = 0;
    version = object.metadata?.resourceVersion ?? version;
    if (type === 'BOOKMARK') return;
    const name = object.metadata?.name ?? '';
    if (type === 'DELETED') items.delete(name);
    else items.set(name, object);
    onChange();
  };

  const round = async (): Promise<void> => {
    if (version === undefined) {
      const listed = await resource.list(closing.signal);
      replace(listed.items);
      version = listed.resourceVersion;
      resolve();
      if (failures > 0) log.info('Kubernetes answers again', { what });
    }
    await resource.watch(version, apply, closing.signal);
    failures = 0;
  };

  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        await round();
      } catch (error) {
        if (closing.signal.aborted) break;
        version = undefined;
        failures += 1;
        if (error instanceof MembershipError) reject(error);
        log.warn('the watch of Kubernetes failed; it begins again', { what, error });
      }
      await passTime(clock, toPause(failures), closing.signal);
    }
  };
  const running = run();

  return {
    items,
    ready,
    close: async () => {
      closing.abort();
      await running;
    },
  };
};
