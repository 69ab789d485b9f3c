import { constants } from 'node:fs';
import { access, chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { dirname, join, posix, resolve } from 'node:path';
import { Readable, Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Sandbox } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { writeWhole } from '../../../output/write-whole.ts';
import { discard, runTool, temporaryPath } from './archive-tool.ts';
import type { CopyOptions } from './copy-options.ts';
import { mergeFolder } from './merge-folder.ts';
import { type LeftOut, toArchiveError, unpack } from './unpack.ts';

export interface CopyOutOptions extends CopyOptions {
  /** The most bytes that are received; undefined for no limit. */
  maxBytes: number | undefined;
  /** Called for each entry of a folder that is not copied. */
  onLeftOut: LeftOut;
}

/**
 * Copies a file or a folder out of a sandbox: into `destination` when that is a folder here, otherwise as `destination`. Code in the
 * sandbox may answer in place of the agent, so nothing that it says becomes a name here: the last part of `source` is the name. A
 * copy is complete before it gets that name, and one that fails leaves nothing. No owner and no set-user-id bit is taken over.
 */
export async function copyOut(
  sandbox: Sandbox,
  source: string,
  destination: string,
  options: CopyOutOptions,
): Promise<void> {
  const target = await findTarget(source, destination);
  const { user, signal } = options;
  const { type, mode, path, sizeBytes } = await sandbox.files.getInfo(source, { user, signal });
  // At its end the sandbox must still say what it said at first.
  const check = async (): Promise<void> => {
    const now = await sandbox.files.getInfo(source, { user, signal });
    if (now.type !== type)
      throw new UserError(`${source} was a ${type} and is now a ${now.type}: it was not copied`);
  };
  if (type === 'file') {
    options.transfer.expect(sizeBytes);
    const fileMode = mode & 0o111 ? 0o777 : 0o666;
    await copyFileOut(sandbox, { source, target, fileMode, check }, options);
  } else if (type === 'directory') await copyFolderOut(sandbox, { path, target, check }, options);
  else throw new UserError(`${source} is neither a file nor a folder`);
}

/** Rejects before anything is asked of the sandbox where this process may not write. */
async function findTarget(source: string, destination: string): Promise<string> {
  // What does not exist yet is made; any other obstacle shows below.
  const there = await stat(destination).catch(() => undefined);
  const name = posix.basename(source);
  if (there?.isDirectory() && ['', '.', '..'].includes(name))
    throw new UserError(`"${source}" has no name for a copy in a folder: end the destination with one`);
  const target = resolve(there?.isDirectory() ? join(destination, name) : destination);
  await access(dirname(target), constants.W_OK | constants.X_OK);
  return target;
}

async function copyFileOut(
  sandbox: Sandbox,
  copy: { source: string; target: string; fileMode: number; check: () => Promise<void> },
  options: CopyOutOptions,
): Promise<void> {
  const write = async (into: Writable): Promise<void> => {
    await receive(sandbox, copy.source, into, options);
    await copy.check();
  };
  await writeWhole(copy.target, write, { mode: copy.fileMode });
}

async function copyFolderOut(
  sandbox: Sandbox,
  copy: { path: string; target: string; check: () => Promise<void> },
  options: CopyOutOptions,
): Promise<void> {
  const archive = temporaryPath();
  const part = await mkdtemp(join(dirname(copy.target), '.skerry-copy-'));
  try {
    const words = ['tar', '-cf', archive, '-C', posix.normalize(copy.path), '.'];
    await runTool(sandbox, { words, path: copy.path }, options);
    const { user, signal } = options;
    options.transfer.expect((await sandbox.files.getInfo(archive, { user, signal })).sizeBytes);
    await receive(sandbox, archive, unpack(part, options.onLeftOut), options).catch((error: unknown) => {
      throw toArchiveError(error);
    });
    await copy.check();
    await chmod(part, 0o777 & ~process.umask());
    await mergeFolder(part, copy.target);
  } finally {
    await Promise.all([rm(part, { recursive: true, force: true }), discard(sandbox, archive, options)]);
  }
}

async function receive(
  sandbox: Sandbox,
  path: string,
  into: Writable,
  { user, signal, maxBytes, transfer }: CopyOutOptions,
): Promise<void> {
  const body = await sandbox.files.read(path, { user, signal, maxBytes, format: 'stream' });
  const counted = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      transfer.add(chunk.length);
      done(null, chunk);
    },
  });
  await pipeline(Readable.fromWeb(body as never), counted, into);
}
