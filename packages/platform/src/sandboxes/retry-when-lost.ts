import { isRuntimeError } from '@skerry/runtime';

/** Repeats an idempotent operation once if the runtime was lost in the middle: the next runtime takes over at once. */
export const retryWhenLost = async <T>(act: () => Promise<T>): Promise<T> => {
  try {
    return await act();
  } catch (error) {
    if (!isRuntimeError(error, 'unavailable')) throw error;
    return act();
  }
};
