/** What builds are making now, so that equal work of two is done once. */
export interface SharedWork {
  /** The part of one build, which ends when it is disposed of. */
  begin(): WorkShare;
}

export interface WorkShare extends Disposable {
  /**
   * Calls `look`, and again after each change while another build is making something that it wants. Resolves with the last
   * thing found; from then on this build makes what that call says, and no longer anything else. Rejects with the reason of
   * `signal`, or what `look` rejects with.
   */
  settle<T>(
    look: () => Promise<Outlook<T>>,
    options: { onWait: () => void; signal: AbortSignal },
  ): Promise<T>;
  /** Can be found from now on, or is not made any more. */
  done(key: string): void;
}

export interface Outlook<T> {
  found: T;
  /** Keys that another build may provide. */
  wanted: readonly string[];
  /** Keys that this build makes if no other one does. */
  makes: readonly string[];
}

/** A build that waits makes nothing, so builds never wait for each other. */
export const createSharedWork = (): SharedWork => {
  const shares = new Set<Set<string>>();
  let changed = Promise.withResolvers<void>();

  const announce = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };

  return {
    begin: () => {
      const own = new Set<string>();
      shares.add(own);
      return {
        settle: async (look, { onWait, signal }) => {
          own.clear();
          announce();
          for (let waited = false; ; ) {
            signal.throwIfAborted();
            const { promise } = changed;
            const { found, wanted, makes } = await look();
            const isElsewhere = [...shares].some(
              (share) => share !== own && wanted.some((key) => share.has(key)),
            );
            if (isElsewhere) {
              if (!waited) onWait();
              waited = true;
              await abortable(promise, signal);
              continue;
            }
            // Something was finished while this build looked: it may be among the wanted.
            if (changed.promise !== promise) continue;
            for (const key of makes) own.add(key);
            return found;
          }
        },
        done: (key) => {
          if (own.delete(key)) announce();
        },
        [Symbol.dispose]: () => {
          shares.delete(own);
          announce();
        },
      };
    },
  };
};

const abortable = async (promise: Promise<void>, signal: AbortSignal): Promise<void> => {
  // No event follows.
  signal.throwIfAborted();
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const onAbort = (): void => resolve();
  signal.addEventListener('abort', onAbort);
  await Promise.race([promise, aborted]);
  signal.removeEventListener('abort', onAbort);
  signal.throwIfAborted();
};
