import type { TLSSocket } from 'node:tls';
import type { ConnectOptions } from '@skerry/contract/directory';
import { RuntimeError } from '../error.ts';
import type { Credentials } from './credentials.ts';
import { dialNode, type NodeAddress } from './dial-node.ts';
import type { DoorRequest } from './opening.ts';

/**
 * Opens a stream to the agent of one run on a node, whichever server owns the node. Rejects as `Instance.connect` does, and with
 * `unavailable` when that run has ended.
 */
export async function dialDoor(
  { address, credentials }: { address: NodeAddress; credentials: Credentials },
  request: DoorRequest,
  options: ConnectOptions = {},
): Promise<TLSSocket> {
  const { port } = request;
  if (port !== 'control' && (!Number.isInteger(port) || port < 1 || port > 65_535))
    throw new RuntimeError('refused', `a port must be 1 to 65535, got ${port}`);
  const opening = { use: 'door', ...request } as const;
  return (await dialNode(address, { credentials, opening, ...options })).socket;
}
