import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { RuntimeError } from '../error.ts';
import { removeTree } from '../kernel/remove-tree.ts';
import { runCommand } from '../kernel/run-command.ts';
import { startProgram } from '../kernel/start-program.ts';
import type { ExportedImage } from '../runtime.ts';
import { countBytes } from './count-bytes.ts';

const DEADLINE_MS = 30 * 60_000;

/**
 * Copies the content of `folder`, which is one folder `rootfs`, into a new folder at `path`: names, owners, modes, times, links,
 * extended attributes and holes. Fails for an existing one. On the medium when it resolves. Rejects as `runCommand` does, or
 * with the reason of `signal`, and leaves nothing then.
 */
export const copyFolderImage = async (options: {
  folder: string;
  path: string;
  signal?: AbortSignal | undefined;
  /** Throws where the host has no room for that. */
  requireRoom?: ((sizeBytes: number) => void) | undefined;
}): Promise<ExportedImage> => {
  const { folder, path, signal, requireRoom } = options;
  const rootfs = `${folder}/rootfs`;
  requireRoom?.(await countBytes(rootfs));
  await mkdir(path, { mode: 0o700 });
  try {
    await runCommand({
      file: 'cp',
      // The folder itself gets mode, owner and times, too.
      args: ['--archive', '--no-target-directory', '--', rootfs, path],
      timeoutMs: DEADLINE_MS,
      signal,
    });
    return await sealFolderImage({ folder: path, signal });
  } catch (error) {
    await removeTree(path);
    signal?.throwIfAborted();
    throw error;
  }
};

/**
 * Resolves when a finished folder is on the medium, with the digest of its entries: names, types, owners, modes, times, link targets,
 * hard links, extended attributes and every byte. Sockets do not count. Rejects as `runCommand` does, or with the reason of `signal`.
 */
export const sealFolderImage = async (options: {
  folder: string;
  signal?: AbortSignal | undefined;
}): Promise<ExportedImage> => {
  const { folder, signal } = options;
  const digest = await digestFolder(folder, signal);
  const sizeBytes = await countBytes(folder);
  // One call for the whole file system: thousands of single ones would take longer.
  await runCommand({ file: 'sync', args: ['--file-system', folder], timeoutMs: DEADLINE_MS, signal });
  return { digest, sizeBytes };
};

/** Returns the digest of the archive that tar makes of a folder: equal entries give equal archives. */
const digestFolder = async (folder: string, signal: AbortSignal | undefined): Promise<string> => {
  const tar = startProgram({
    file: 'tar',
    args: [
      ...['--create', '--file=-', `--directory=${folder}`, '--format=pax', '--sort=name', '--numeric-owner'],
      '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime',
      // Later versions store the number of the process.
      ...[
        '--sparse',
        '--sparse-version=0.0',
        '--no-acls',
        '--xattrs',
        '--xattrs-include=*',
        '--warning=no-file-ignored',
        '.',
      ],
    ],
    env: { LC_ALL: 'C' },
    stdio: ['ignore', 'output', 'output'],
    ownSession: true,
    signal,
  });
  const [, stdout, stderr] = tar.pipes as [undefined, Socket, Socket];
  const complaint = text(stderr).catch(() => '');
  const hash = createHash('sha256');
  stdout.on('data', (bytes: Buffer) => void hash.update(bytes));
  await finished(stdout, { writable: false });
  const end = await tar.ended;
  signal?.throwIfAborted();
  if (end !== 0)
    throw new RuntimeError('internal', `tar ended with ${end}: ${(await complaint).trim().slice(-500)}`);
  return `sha256:${hash.digest('hex')}`;
};
