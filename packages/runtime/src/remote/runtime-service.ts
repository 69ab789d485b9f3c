import type { ServiceImpl } from '@connectrpc/connect';
import type { AddressedInstance, AddressedRuntime } from '../drivers/guest-socket.ts';
import { parseImagePath } from '../drivers/instance-spec.ts';
import { RuntimeError } from '../error.ts';
import type { ListUsageRequest, RuntimeService } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { isInstanceId } from '../instance-id.ts';
import { createCancellableCalls } from './cancellable-calls.ts';
import {
  parseNetwork,
  parseOrigin,
  parseSpec,
  parseTarget,
  type Target,
  toDifferenceMessage,
  toExportedImageMessage,
  toFeaturesMessage,
  toInstanceMessage,
  toStateMessage,
  toUsageMessage,
} from './messages.ts';
import { watchRuns } from './watch-runs.ts';

/** Implements the calls of a runtime. `checkRequests` must have checked them, and `createFailureInterceptor` translates the errors. */
export const createRuntimeService = (
  runtime: AddressedRuntime,
  { onError }: { onError: (error: Error) => void },
): ServiceImpl<typeof RuntimeService> => {
  const find = async (message: Parameters<typeof parseTarget>[0]): Promise<AddressedInstance> => {
    const { instance: id, birthId }: Target = parseTarget(message);
    const instance = await runtime.get(id);
    if (instance.birthId !== birthId)
      throw new RuntimeError('not_found', `sandbox ${id} has ended, and another has its id`);
    return instance;
  };
  /** What can be answered for each of them; the others are left out. */
  const findEach = async <T>(
    targets: ListUsageRequest['targets'],
    read: (instance: AddressedInstance) => Promise<T>,
  ): Promise<(T & { birthId: string })[]> => {
    const outcomes = await Promise.allSettled(
      targets
        .filter(({ instance }) => isInstanceId(instance))
        .map(async ({ instance, birthId }) => ({
          ...(await read(await find({ target: { instance, birthId } }))),
          birthId,
        })),
    );
    return outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  };
  const cancellable = createCancellableCalls();

  return {
    describe: () => ({ name: runtime.name, features: toFeaturesMessage(runtime.features) }),
    create: (request, context) =>
      cancellable.run(request.call, context, async (signal) =>
        toInstanceMessage(await runtime.create(parseSpec(request), { signal })),
      ),
    get: async ({ instance }) => toInstanceMessage(await runtime.get(instance)),
    list: () => toMessages(runtime.list(), toInstanceMessage),
    getState: async (request) => toStateMessage(await (await find(request)).state()),
    setNetwork: async (request) => {
      await (await find(request)).setNetwork(parseNetwork(request));
      return {};
    },
    getUsage: async (request) => toUsageMessage(await (await find(request)).usage()),
    listStates: async ({ targets }) => ({
      found: await findEach(targets, async (instance) => toStateMessage(await instance.state())),
    }),
    listUsage: async ({ targets }) => ({
      measured: await findEach(targets, async (instance) => ({
        usage: toUsageMessage(await instance.usage()),
      })),
    }),
    stop: async (request) => {
      await (await find(request)).stop();
      return {};
    },
    pause: async (request) => {
      await (await find(request)).pause({ memory: request.memory });
      return {};
    },
    resume: (request, context) =>
      cancellable.run(request.call, context, async (signal) => {
        const { memory } = request;
        const instance = await find(request);
        await instance.resume({ signal, ...(memory !== undefined && { memory }) });
        return toInstanceMessage(instance);
      }),
    snapshot: async (request) => {
      const { snapshot: id, memory, ephemeral, unlisted } = request;
      await (await find(request)).snapshot({ id, memory, ephemeral, unlisted });
      return {};
    },
    exportImage: (request, context) =>
      cancellable.run(request.call, context, async (signal) => {
        const { origin } = request;
        const options = { path: parseImagePath(request.path, 'path'), signal };
        if (origin.case === 'snapshot')
          return toExportedImageMessage(await runtime.snapshots.exportImage(origin.value, options));
        const instance = await find({ target: origin.value });
        return toExportedImageMessage(await instance.exportImage(options));
      }),
    listSnapshots: () =>
      toMessages(runtime.snapshots.list(), ({ id, sizeBytes }) => ({
        snapshot: id,
        sizeBytes: BigInt(sizeBytes),
      })),
    verifySnapshot: async function* ({ snapshot }) {
      const problems = await runtime.snapshots.verify(snapshot);
      // A path in it may contain bytes that are not text.
      for (const problem of problems) yield { problem: problem.toWellFormed() };
    },
    diff: (request, { signal }) => {
      const from = parseOrigin(request.from, 'from');
      const to = parseOrigin(request.to, 'to');
      return toMessages(runtime.snapshots.diff(from, to, { signal }), toDifferenceMessage);
    },
    deleteSnapshot: async ({ snapshot }) => {
      await runtime.snapshots.delete(snapshot);
      return {};
    },
    cancel: ({ call }) => ({ found: cancellable.cancel(call) }),
    watch: (requests, { signal }) => watchRuns(runtime, requests, { signal, onError }),
  };
};

async function* toMessages<T, M>(items: AsyncIterable<T>, toMessage: (item: T) => M): AsyncGenerator<M> {
  for await (const item of items) yield toMessage(item);
}
