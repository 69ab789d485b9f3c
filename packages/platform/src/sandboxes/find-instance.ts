import { type Instance, isRuntimeError, type Runtime } from '@skerry/runtime';

/** Undefined when the runtime knows no such instance. Rejects when it cannot say. */
export const findInstance = async (
  runtime: Pick<Runtime, 'get'>,
  id: string,
): Promise<Instance | undefined> => {
  try {
    return await runtime.get(id);
  } catch (error) {
    if (isRuntimeError(error, 'not_found')) return undefined;
    throw error;
  }
};
