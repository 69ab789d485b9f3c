import { isRuntimeError } from '@skerry/runtime';

/** Does what can be done twice again when the runtime was cut off in the middle: the next one takes over at once. */
export const retryWhenCutOff = async <T>(act: () => Promise<T>): Promise<T> => {
  try {
    return await act();
  } catch (error) {
    if (!isRuntimeError(error, 'unavailable')) throw error;
    return act();
  }
};
