import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { MakeImageFile } from '../../image-file.ts';
import { findProgram, runProgram } from '../../run-program.ts';

/** A file system of 16 MiB for tests, without what the runtime adds for size and durability. */
export const makeImageFile: MakeImageFile = async ({ folder, path, signal }) => {
  const args = ['-q', '-F', '-t', 'ext4', '-d', folder, path, '16M'];
  await runProgram({ file: findProgram('mke2fs', 'e2fsprogs'), args, signal });
  const bytes = readFileSync(path);
  return {
    digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    sizeBytes: bytes.length,
  };
};
