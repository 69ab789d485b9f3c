import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../../kernel/run-command.ts';

/** A loop device detaches itself after its last user, which the kernel may still be closing. */
const FREE_MS = 2_000;

/** Lists all mounts below one of these folders, but not on it, the newest first. Pass the folders without symbolic links. */
export const findMounts = (folders: readonly string[]): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .map((path) =>
      path.replaceAll(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8))),
    )
    .filter((path) => isBelow(path, folders))
    .toReversed();

/** Unmounts all of them, also those in use, and resolves with their number. Rejects with `internal`. */
export const unmountBelow = async (folders: readonly string[]): Promise<number> => {
  const mounts = findMounts(folders);
  for (const path of mounts) {
    // The programs' own records of mounts do not contain these.
    await runCommand({ file: 'umount', args: ['--lazy', '--no-mtab', '--internal-only', path] });
  }
  return mounts.length;
};

/**
 * Detaches the loop devices of images below these folders that do not detach themselves, and resolves with their
 * number.
 */
export const detachLoops = async (folders: readonly string[]): Promise<number> => {
  for (const deadline = Date.now() + FREE_MS; findLoops(folders).length > 0 && Date.now() < deadline; )
    await sleep(20);
  const left = findLoops(folders);
  for (const name of left) await runCommand({ file: 'losetup', args: ['--detach', `/dev/${name}`] });
  return left.length;
};

const findLoops = (folders: readonly string[]): string[] =>
  readdirSync('/sys/block').filter(
    (name) => name.startsWith('loop') && isBelow(readBackingFile(name), folders),
  );

const readBackingFile = (name: string): string => {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim();
  } catch {
    return ''; // The device is free.
  }
};

const isBelow = (path: string, folders: readonly string[]): boolean =>
  folders.some((folder) => path.startsWith(`${folder}/`));
