import { abortable } from '@skerry/contract/abortable';
/** What builds are making now, so that equal work of two is done once. */
export interface SharedWork {
  /** A part of one build, such as a stage, which ends when it is disposed of. */
  begin(buildId: string): WorkShare;
}

export interface WorkShare extends Disposable {
  /**
   * Calls `look`, and again after each change while another part is making something that it wants. Resolves with the last
   * thing found; from then on this part makes what that call says, and no longer anything else. Calls `onWait` once, before the
   * first wait, with whose work it waits for. Rejects with the reason of `signal`, or what `look` rejects with.
   */
  settle<T>(
    look: () => Promise<Outlook<T>>,
    options: { onWait: (maker: Maker) => void; signal: AbortSignal },
  ): Promise<T>;
  /** Call it when the result can be found, or when this build no longer makes it. */
  done(key: string): void;
}

/** Whose work a part waits for; another build only where no part of its own has that work. */
export type Maker = 'this build' | 'another build';

export interface Outlook<T> {
  found: T;
  /** Keys that another part may provide. */
  wanted: readonly string[];
  /** Keys that this part makes if no other one does. */
  makes: readonly string[];
}

/** A build that waits has no registered work, so two builds cannot wait for each other. */
export const createSharedWork = (): SharedWork => {
  const shares = new Set<{ buildId: string; keys: Set<string> }>();
  let changed = Promise.withResolvers<void>();

  const announce = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };

  return {
    begin: (buildId) => {
      const own = new Set<string>();
      const share = { buildId, keys: own };
      shares.add(share);
      return {
        settle: async (look, { onWait, signal }) => {
          own.clear();
          announce();
          for (let waited = false; ; ) {
            signal.throwIfAborted();
            const { promise } = changed;
            const { found, wanted, makes } = await look();
            const makers = [...shares].filter(
              (other) => other !== share && wanted.some((key) => other.keys.has(key)),
            );
            if (makers.length > 0) {
              const isOwn = makers.some((maker) => maker.buildId === buildId);
              if (!waited) onWait(isOwn ? 'this build' : 'another build');
              waited = true;
              await abortable(promise, signal);
              continue;
            }
            // Something was finished while this part looked: it may be among the wanted.
            if (changed.promise !== promise) continue;
            for (const key of makes) own.add(key);
            return found;
          }
        },
        done: (key) => {
          if (own.delete(key)) announce();
        },
        [Symbol.dispose]: () => {
          shares.delete(share);
          announce();
        },
      };
    },
  };
};
