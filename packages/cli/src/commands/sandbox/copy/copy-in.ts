import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, posix, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { NotFoundError, type Sandbox } from '@skerry/sdk';
import { create } from 'tar';
import { CliError } from '../../../cli-error.ts';
import { archivePath, runTool } from './archive-tool.ts';

export interface CopyOptions {
  user: string | undefined;
  /** Called with the size of each piece that was copied. */
  onBytes(count: number): void;
}

/**
 * Copies a file or a folder of this machine into a sandbox: into `destination` when that is a folder, otherwise as `destination`.
 * Modes and symbolic links in a folder are kept; owner is the user. Missing parents are made.
 */
export async function copyIn(
  sandbox: Sandbox,
  source: string,
  destination: string,
  { user, onBytes }: CopyOptions,
): Promise<void> {
  const path = resolve(source);
  const facts = await stat(path);
  const target = await toTarget(sandbox, basename(path), destination, user);
  if (facts.isFile()) {
    await sandbox.files.write(target, count(createReadStream(path), onBytes), { user });
    if (facts.mode & 0o111) await runTool(sandbox, ['chmod', '+x', '--', target], user);
    return;
  }
  if (!facts.isDirectory()) throw new CliError(`${source} is neither a file nor a folder`);
  const archive = archivePath();
  try {
    // Portable: without the owners and times of this machine.
    const packed = Readable.from(create({ cwd: path, portable: true }, ['.']));
    await sandbox.files.write(archive, count(packed, onBytes), { user });
    await runTool(sandbox, ['mkdir', '-p', '--', target], user);
    await runTool(sandbox, ['tar', '-xf', archive, '-C', target], user);
  } finally {
    await sandbox.files.remove(archive, { user });
  }
}

async function toTarget(
  sandbox: Sandbox,
  name: string,
  destination: string,
  user: string | undefined,
): Promise<string> {
  if (destination.endsWith('/') || destination === '.') return posix.join(destination, name);
  try {
    const { type } = await sandbox.files.getInfo(destination, { user });
    return type === 'directory' ? posix.join(destination, name) : destination;
  } catch (error) {
    if (error instanceof NotFoundError) return destination;
    throw error;
  }
}

const count = (source: Readable, onBytes: (count: number) => void): ReadableStream<Uint8Array> =>
  Readable.toWeb(
    source.on('data', (chunk: Uint8Array) => onBytes(chunk.length)),
  ) as ReadableStream<Uint8Array>;
