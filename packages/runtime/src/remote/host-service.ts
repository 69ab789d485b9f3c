import { type ConnectRouter, createClient, type Transport } from '@connectrpc/connect';
import { HostService, type MeasureHostResponse } from '../gen/skerry/host/v1/host_pb.ts';
import type { HostLoad } from '../host-load.ts';
import { fromConnectError } from './failure.ts';

/** Adds the service that says what the sandboxes of a host take. */
export const serveHost = (router: ConnectRouter, measure: () => Promise<HostLoad>): void => {
  router.service(HostService, {
    measureHost: async () => {
      const { memoryBytes, ...load } = await measure();
      return { ...load, memoryBytes: BigInt(memoryBytes) };
    },
  });
};

/** Asks a helper. Rejects with `RuntimeError`. */
export const measureHost = async (transport: Transport): Promise<HostLoad> => {
  const client = createClient(HostService, transport);
  const answer = await client.measureHost({}).catch((error: unknown): never => {
    throw fromConnectError(error);
  });
  return parseLoad(answer);
};

const parseLoad = ({
  running,
  paused,
  memoryBytes,
  cpuCount,
  startsUnderWay,
  startsWaiting,
}: MeasureHostResponse): HostLoad => ({
  running,
  paused,
  memoryBytes: Number(memoryBytes),
  cpuCount,
  startsUnderWay,
  startsWaiting,
});
