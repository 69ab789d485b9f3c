import type { Socket } from 'node:net';
import { createClient } from '@connectrpc/connect';
import type { ConnectOptions } from '@skerry/contract/directory';
import { RuntimeLostError } from '../error.ts';
import { NodeService } from '../gen/skerry/node/v1/node_pb.ts';
import { createRemote, type GuestDial, type RemoteRuntime } from '../remote/client.ts';
import { fromConnectError } from '../remote/failure.ts';
import type { InstanceDescription } from '../remote/messages.ts';
import type { Credentials } from './credentials.ts';
import { dialDoor } from './dial-door.ts';
import { dialNode, type NodeAddress } from './dial-node.ts';
import { type NodeDescription, parseDescription } from './node-description.ts';
import { type NodeFolder, toFolderMessage } from './node-folders.ts';
import type { Claim, DoorRequest } from './opening.ts';

/** The runtime of a node, and what the node says of itself. */
export interface NodeRuntime extends RemoteRuntime {
  /**
   * Asks the node. Rejects with `RuntimeLostError` when it cannot be reached, or does not answer in that time: its connection is
   * ended then, as no packet may ever report the death of a machine.
   */
  describeNode(options: { timeoutMs: number }): Promise<NodeDescription>;
  /** The names in a folder of the node, and the space that each takes. Rejects with `RuntimeError`. */
  measureFolder(folder: NodeFolder): Promise<Map<string, number>>;
}

/**
 * Uses the runtime of a node as its owner. When the connection ends, pending calls reject with `RuntimeLostError`, and it is made
 * again until `close`; instances keep their handles. Resolves when the node has answered. Rejects with `RuntimeLostError`, whose
 * cause says why, when it does not; it is not called again then.
 */
export async function createNodeRuntime(options: {
  address: NodeAddress;
  credentials: Credentials;
  claim: Claim;
  onConnection?: (isConnected: boolean) => void;
  signal?: AbortSignal;
}): Promise<NodeRuntime> {
  const { address, credentials, claim, onConnection, signal } = options;
  let socket: Socket | undefined;
  const runtime = await createRemote({
    dial: async () => {
      ({ socket } = await dialNode(address, { credentials, opening: { use: 'runtime', ...claim } }));
      return socket;
    },
    guests: toDoors({ address, credentials, installation: claim.installation }),
    staysConnected: true,
    signal,
    ...(onConnection && { onConnection }),
  });
  const client = createClient(NodeService, runtime.transport);
  return {
    ...runtime,
    measureFolder: async (folder) => {
      const sizes = new Map<string, number>();
      try {
        const entries = client.measureFolder({ folder: toFolderMessage(folder) });
        for await (const { name, sizeBytes } of entries) sizes.set(name, Number(sizeBytes));
      } catch (error) {
        throw error instanceof RuntimeLostError ? error : fromConnectError(error);
      }
      return sizes;
    },
    describeNode: async ({ timeoutMs }) => {
      const late = AbortSignal.timeout(timeoutMs);
      try {
        return parseDescription(await client.describeNode({}, { signal: late }));
      } catch (error) {
        if (!late.aborted) throw error instanceof RuntimeLostError ? error : fromConnectError(error);
        socket?.destroy();
        throw new RuntimeLostError(`node "${address.name}" did not answer for ${timeoutMs} ms`, {
          cause: error,
        });
      }
    },
  };
}

/** Streams to agents are connections of their own, so that a slow one delays nothing else. */
function toDoors({
  address,
  credentials,
  installation,
}: {
  address: NodeAddress;
  credentials: Credentials;
  installation: string;
}): GuestDial {
  const open = (
    { id: instance, birthId, runId }: InstanceDescription,
    port: DoorRequest['port'],
    options: ConnectOptions,
  ) => dialDoor({ address, credentials }, { installation, instance, birthId, runId, port }, options);
  return {
    connect: open,
    control: (instance, { signal }) => open(instance, 'control', { ...(signal && { signal }) }),
  };
}
