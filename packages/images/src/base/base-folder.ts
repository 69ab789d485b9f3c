import { rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../image-file.ts';
import { findProgram, removeTree, runProgram } from '../run-program.ts';
import type { BaseImage, ImageManifest } from './manifest.ts';

/** The base image in a folder that has its tree and its manifest. */
export const toBase = (target: string, { digest, missing }: ImageManifest): BaseImage => ({
  rootfs: join(target, 'rootfs'),
  digest,
  missing,
});

/** Moves a tree to its final path, with its manifest. Durable when it resolves. */
export async function replaceFolder({
  tree,
  target,
  manifest,
  signal,
}: {
  tree: string;
  target: string;
  manifest: ImageManifest;
  signal?: AbortSignal | undefined;
}): Promise<BaseImage> {
  await writeFile(join(tree, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o644 });
  // One call for the whole file system: thousands of single fsyncs would take longer.
  await runProgram({ file: findProgram('sync', 'coreutils'), args: ['--file-system', tree], signal });
  // What is there has no valid manifest.
  await removeTree(target);
  await rename(tree, target);
  await syncFolder(dirname(target));
  return toBase(target, manifest);
}
