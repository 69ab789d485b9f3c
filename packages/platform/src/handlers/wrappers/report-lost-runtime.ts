import { RuntimeLostError } from '@skerry/runtime';
import { toLostError } from '../../runtime-lost.ts';
import type { PlatformHandlers } from '../platform-handlers.ts';

/** Wraps handlers so that a call during which the runtime is lost fails with `toLostError`. */
export const reportLostRuntime = (handlers: PlatformHandlers): PlatformHandlers => {
  type Handler = (request: never) => unknown;
  const wrapped = Object.entries<Handler>(handlers as unknown as Record<string, Handler>).map(
    ([key, handle]) => [
      key,
      async (request: never) => {
        try {
          return await handle(request);
        } catch (error) {
          throw error instanceof RuntimeLostError ? toLostError(error) : error;
        }
      },
    ],
  );
  return Object.fromEntries(wrapped) as PlatformHandlers;
};
