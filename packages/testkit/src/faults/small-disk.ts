import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own that can be filled. */
export interface SmallDisk extends Disposable {
  readonly path: string;
  /** Leaves about that room, in what is there now. */
  fill(leaveBytes: number): void;
  /** Takes away what `fill` has put there. */
  drain(): void;
}

const LEAST_BYTES = 4096;

/** Needs root. No program may use it when it is disposed of. */
export const createSmallDisk = (sizeBytes: number): SmallDisk => {
  const base = mkdtempSync(join(tmpdir(), 'skerry-disk-'));
  chmodSync(base, 0o711); // Other users may have folders on the disk.
  const [image, path] = [join(base, 'image'), join(base, 'disk')];
  mkdirSync(path);
  writeFileSync(image, '');
  truncateSync(image, sizeBytes);
  execFileSync('mkfs.ext4', ['-q', '-m', '0', image]);
  execFileSync('mount', ['-o', 'loop', image, path]);
  let count = 0;
  const readFree = (): number => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };
  return {
    path,
    fill: (leaveBytes) => {
      // What a file takes besides its content is not known beforehand: what is left gets a smaller one.
      for (let wanted = readFree() - leaveBytes; wanted >= LEAST_BYTES; ) {
        try {
          const target = join(path, `filling-${count++}`);
          execFileSync('fallocate', ['-l', String(wanted), target], { stdio: 'ignore' });
          wanted = readFree() - leaveBytes;
        } catch {
          // fallocate took what there was and failed, or took nothing.
          const rest = readFree() - leaveBytes;
          wanted = rest < wanted ? rest : Math.floor(wanted / 2);
        }
      }
    },
    drain: () => {
      for (const name of readdirSync(path)) if (name.startsWith('filling-')) rmSync(join(path, name));
    },
    [Symbol.dispose]: () => {
      execFileSync('umount', [path]);
      rmSync(base, { recursive: true });
    },
  };
};
