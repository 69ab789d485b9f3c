/**
 * Program: koffi
 * Does: Puts koffi's addon into the bundle in the place of the whole package, and copies its file beside it.
 * Why not the promised way: What the package does around the addon, of which it shows the functions, is to choose the file and to warn of
 * names of the past. Loading it takes five times as long as the addon alone, in each sandbox.
 * Source: src/koffi/indirect.js of the package (`loadDynamic`, `wrapNative`); https://koffi.dev
 * When it no longer fits: The build fails at a file that is missing, and at a function that is when it uses the agent; without
 * this plugin all works, in more time.
 * Test: The build uses the agent once; all tests of sandboxes run what it has built.
 * Bench row: agent.start
 */
import { copyFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'rolldown';

const addon = './koffi.node';

/** The plugin that leaves the package out. */
export const nativeKoffi = (): Plugin => ({
  name: 'native part only',
  resolveId: (id) => (id === 'koffi/indirect' ? { id: addon, external: true } : null),
});

/** Copies the addon for this architecture, and its licence. */
export const copyKoffi = async (target: string): Promise<void> => {
  const koffi = dirname(createRequire(import.meta.url).resolve('koffi/indirect'));
  const folder = join(koffi, '../@koromix', `koffi-linux-${process.arch}`, `linux_${process.arch}`);
  await copyFile(join(folder, 'koffi.node'), join(target, addon));
  await copyFile(join(koffi, 'LICENSE.txt'), join(target, 'koffi.LICENSE.txt'));
};
