import { type Instance, isRuntimeError, type Runtime } from '@skerry/runtime';

/** Undefined when the runtime has no such instance. Rejects when the runtime cannot answer. */
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
