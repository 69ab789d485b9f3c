import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { SnapshotRequest } from '../blob-copies/snapshot-request.ts';
import { RuntimeError } from '../error.ts';
import { writeLine } from '../line-protocol.ts';
import { openSocketPath } from '../socket-path.ts';
import { join } from './join.ts';

/**
 * Joins a connection of a server to the process of this host that holds the driver, which answers the request. Rejects with
 * `unavailable` when that cannot be reached.
 */
export async function openSnapshotDoor(
  socketPath: string,
  request: SnapshotRequest,
  outside: Socket,
): Promise<void> {
  const short = await openSocketPath(socketPath);
  const inside = createConnection(short.path);
  inside.on('error', () => undefined);
  try {
    await once(inside, 'connect');
  } catch (error) {
    throw new RuntimeError('unavailable', 'the helper of the node does not serve snapshots now', {
      cause: error,
    });
  } finally {
    await short.close();
  }
  await writeLine(inside, `${JSON.stringify(request)}\n`);
  join(outside, { stream: inside });
}
