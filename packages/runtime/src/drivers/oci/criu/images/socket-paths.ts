import { posix } from 'node:path';
import { clearField } from '@bufbuild/protobuf';
import { type UnixSocket, UnixSocketSchema } from '../../../../gen/criu/images/images_pb.ts';
import { ObstacleError } from '../../../../obstacle.ts';
import { observeProcess } from '../processes/observe-process.ts';
import type { SandboxRoot } from '../processes/sandbox-root.ts';
import { type SocketFile, visitFrozenSockets } from '../sockets/sandbox-sockets.ts';

/**
 * Gives unix sockets the paths at which their files are now, where those differ from the ones that they were bound to: CRIU
 * binds a socket to its old path, through links as they are now. `pids` are the frozen processes. Resolves with whether
 * there were any. Rejects with an `ObstacleError` when a file has several hard links, of which CRIU makes one again.
 */
export const followSocketPaths = async (
  sockets: readonly UnixSocket[],
  { pids, root }: { pids: readonly number[]; root: SandboxRoot },
): Promise<boolean> => {
  const bound = new Map(sockets.filter(isBound).map((socket) => [String(socket.inode), socket]));
  if (bound.size === 0) return false;
  let hasMoved = false;
  await visitFrozenSockets(pids, ({ inode, pid, readFile }) => {
    const socket = bound.get(inode);
    const file = socket && readFile();
    if (socket === undefined || file === undefined) return;
    if (file.hardLinkCount > (file.isDeleted ? 0 : 1))
      throw new ObstacleError({ kind: 'socket_path', process: observeProcess(pid) });
    const path = file.isDeleted ? toDeletedPath(socket, root) : toPresentPath(socket, { file, root });
    if (path === undefined) return;
    if (!movePath(socket, path))
      throw new ObstacleError({ kind: 'socket_path', process: observeProcess(pid) });
    hasMoved = true;
  });
  return hasMoved;
};

/** Whether a socket is bound to a path. The agent renames its own two, and the runtime binds them itself. */
const isBound = ({ name }: UnixSocket): boolean =>
  name.length > 0 && name[0] !== 0 && !toPath(name).startsWith('/run/envd/');

/** Undefined when the bound path still leads there. */
const toPresentPath = (
  socket: UnixSocket,
  { file, root }: { file: SocketFile; root: SandboxRoot },
): string | undefined => {
  const path = toPath(file.path);
  return root.resolve(toBoundPath(socket)) === path ? undefined : path;
};

/** Undefined when CRIU can make the folders above the bound path again. */
const toDeletedPath = (socket: UnixSocket, root: SandboxRoot): string | undefined => {
  const path = posix.normalize(toBoundPath(socket));
  const folder = posix.dirname(path);
  const { folder: present, isWhole, isBlocked } = root.findFolder(root.resolve(folder) ?? folder);
  // CRIU enters the folder of a relative path before it makes any.
  const isAbsolute = toPath(socket.name).startsWith('/');
  return isWhole || (isAbsolute && !isBlocked) ? undefined : posix.join(present, posix.basename(path));
};

const toBoundPath = ({ name, folder }: UnixSocket): string =>
  toPath(name).startsWith('/') ? toPath(name) : `${toPath(folder)}/${toPath(name)}`;

/** Keeps a relative name where that is the last of the path. Returns false when the path is too long. */
const movePath = (socket: UnixSocket, path: string): boolean => {
  const base = posix.basename(path);
  const isRelative = toPath(socket.name) === base || path.length > MAX_ADDRESS_BYTES;
  const name = isRelative ? base : path;
  socket.name = Buffer.from(`${name}\0`, 'latin1');
  if (isRelative) socket.folder = Buffer.from(posix.dirname(path), 'latin1');
  else clearField(socket, UnixSocketSchema.field.folder);
  return name.length <= MAX_ADDRESS_BYTES;
};

/** The kernel ends an address with a NUL. */
const toPath = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1').replace(/\0$/, '');

/** unix(7), without the NUL at the end. */
const MAX_ADDRESS_BYTES = 107;
