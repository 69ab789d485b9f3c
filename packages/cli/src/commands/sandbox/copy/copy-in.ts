import { createReadStream, type Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, join, posix, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { NotFoundError, type Sandbox } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { create } from 'tar';
import { discard, requireWritable, runTool, temporaryPath } from './archive-tool.ts';
import type { CopyOptions } from './copy-options.ts';

/**
 * Copies a file or a folder of this machine into a sandbox: into `destination` when that is a folder, otherwise as `destination`.
 * Modes and symbolic links in a folder are kept; owner is the user. Missing parents are made. Rejects before anything is sent where
 * the user may not write. A copy that fails leaves what was there: nothing, or the file that it was to replace.
 */
export async function copyIn(
  sandbox: Sandbox,
  source: string,
  destination: string,
  options: CopyOptions,
): Promise<void> {
  const path = resolve(source);
  const facts = await stat(path);
  if (!facts.isFile() && !facts.isDirectory())
    throw new UserError(`${source} is neither a file nor a folder`);
  const target = await findTarget(sandbox, basename(path), destination, options);
  await requireWritable(sandbox, target.path, options);
  if (facts.isFile()) await copyFileIn(sandbox, { path, facts, target }, options);
  else await copyFolderIn(sandbox, { path, target }, options);
}

interface Target {
  path: string;
  /** Undefined for a path that does not exist. */
  type: 'directory' | 'other' | undefined;
}

async function copyFileIn(
  sandbox: Sandbox,
  { path, facts, target }: { path: string; facts: Stats; target: Target },
  options: CopyOptions,
): Promise<void> {
  const { user, signal, transfer } = options;
  transfer.expect(facts.size);
  const body = count(createReadStream(path), options);
  if (target.type === undefined) {
    // The agent removes a new file whose body breaks off.
    await sandbox.files.write(target.path, body, { user, signal });
  } else {
    const whole = temporaryPath();
    try {
      await sandbox.files.write(whole, body, { user, signal });
      await sandbox.files.compose([whole], target.path, { user, signal });
    } finally {
      await discard(sandbox, whole, options);
    }
  }
  const words = ['chmod', '+x', '--', target.path];
  if (facts.mode & 0o111) await runTool(sandbox, { words, path: target.path }, options);
}

async function copyFolderIn(
  sandbox: Sandbox,
  { path, target }: { path: string; target: Target },
  options: CopyOptions,
): Promise<void> {
  const { user, signal, transfer } = options;
  if (transfer.isShown) transfer.expect(await measureArchive(path));
  const archive = temporaryPath();
  // A folder that is new appears with all that is in it, or not at all.
  const into = target.type === undefined ? temporaryPath(posix.dirname(target.path)) : target.path;
  try {
    // Portable: without the owners and times of this machine.
    const packed = Readable.from(create({ cwd: path, portable: true }, ['.']));
    await sandbox.files.write(archive, count(packed, options), { user, signal });
    for (const words of [
      ['mkdir', '-p', '--', into],
      ['tar', '-xf', archive, '-C', into],
    ])
      await runTool(sandbox, { words, path: into }, options);
    if (into !== target.path) await sandbox.files.move(into, target.path, { user, signal });
  } finally {
    await discard(sandbox, archive, options);
    if (into !== target.path) await discard(sandbox, into, options);
  }
}

async function findTarget(
  sandbox: Sandbox,
  name: string,
  destination: string,
  { user, signal }: CopyOptions,
): Promise<Target> {
  const look = async (path: string): Promise<Target> => {
    try {
      const { type } = await sandbox.files.getInfo(path, { user, signal });
      return { path, type: type === 'directory' ? 'directory' : 'other' };
    } catch (error) {
      if (error instanceof NotFoundError) return { path, type: undefined };
      throw error;
    }
  };
  const isFolder = destination.endsWith('/') || ['', '.'].includes(destination);
  const found = isFolder ? undefined : await look(destination);
  return found === undefined || found.type === 'directory' ? look(posix.join(destination, name)) : found;
}

const TAR_BLOCK_BYTES = 512;

/** The size of an archive of the folder, short of long names: each entry is a head and whole blocks of content. */
async function measureArchive(folder: string): Promise<number> {
  let total = TAR_BLOCK_BYTES;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const size = entry.isFile() ? (await lstat(join(entry.parentPath, entry.name))).size : 0;
    total += TAR_BLOCK_BYTES * (1 + Math.ceil(size / TAR_BLOCK_BYTES));
  }
  return total;
}

const count = (source: Readable, { transfer }: CopyOptions): ReadableStream<Uint8Array> =>
  Readable.toWeb(
    source.on('data', (chunk: Uint8Array) => transfer.add(chunk.length)),
  ) as ReadableStream<Uint8Array>;
