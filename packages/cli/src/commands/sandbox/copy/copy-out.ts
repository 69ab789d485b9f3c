import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join, posix, resolve } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Sandbox } from '@skerry/sdk';
import { extract } from 'tar';
import { archivePath, runTool } from './archive-tool.ts';
import type { CopyOptions } from './copy-in.ts';

/**
 * Copies a file or a folder out of a sandbox: into `destination` when that is a folder here, otherwise as `destination`. What it
 * holds is not trusted: nothing is written outside of `destination`, and no owner and no set-user-id bit is taken over.
 */
export async function copyOut(
  sandbox: Sandbox,
  source: string,
  destination: string,
  { user, onBytes }: CopyOptions,
): Promise<void> {
  const info = await sandbox.files.getInfo(source, { user });
  // What does not exist yet is made; any other obstacle shows when it is written.
  const folder = await stat(destination).catch(() => undefined);
  const target = folder?.isDirectory() ? join(destination, basename(info.path)) : resolve(destination);
  if (info.type !== 'directory') {
    const part = `${target}.part`;
    try {
      const body = await sandbox.files.read(source, { user, format: 'stream' });
      const executable = info.mode & 0o111;
      await pipeline(
        Readable.fromWeb(body as never),
        counted(onBytes),
        createWriteStream(part, { mode: executable ? 0o777 : 0o666 }),
      );
      await rename(part, target);
    } finally {
      await rm(part, { force: true });
    }
    return;
  }
  const archive = archivePath();
  try {
    await runTool(sandbox, ['tar', '-cf', archive, '-C', posix.normalize(info.path), '.'], user);
    const body = await sandbox.files.read(archive, { user, format: 'stream' });
    await mkdir(target, { recursive: true });
    // node-tar strips "/" and "..", and writes through no symbolic link that it has made.
    const unpack = extract({ cwd: target, preserveOwner: false, strict: true });
    await pipeline(
      Readable.fromWeb(body as never),
      counted(onBytes),
      unpack as unknown as NodeJS.WritableStream,
    );
  } finally {
    await sandbox.files.remove(archive, { user });
  }
}

const counted = (onBytes: (count: number) => void): Transform =>
  new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      onBytes(chunk.length);
      done(null, chunk);
    },
  });
