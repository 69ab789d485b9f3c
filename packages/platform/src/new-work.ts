import { shuttingDown } from '@skerry/contract/error';

/** Whether this server still begins work for its callers. */
export interface NewWork {
  /** Throws `unavailable` once `refuse` was called. Other servers may still need what this one alone can do: they are not refused. */
  require(caller?: { isForwarded: boolean }): void;
  refuse(): void;
}

export function createNewWork(): NewWork {
  let isRefused = false;
  return {
    require: ({ isForwarded } = { isForwarded: false }) => {
      if (isRefused && !isForwarded) throw shuttingDown();
    },
    refuse: () => {
      isRefused = true;
    },
  };
}
