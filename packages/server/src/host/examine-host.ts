import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { checkPreparedPrograms, type ProbeResult, probeHost, requireOwnFolder } from '@skerry/runtime';
import { findLocations } from '../locations.ts';
import { UserError } from '../user-error.ts';
import { enterRootlessNamespace, leaveRootlessNamespace, toRootlessOptions } from './rootless.ts';

/**
 * Tries what sandboxes of this user need, and yields each result as it ends. For an ordinary user it first checks what a rootless namespace needs; if
 * that succeeds, it re-executes this command in the namespace and checks the rest. Works beside the data folder, or at
 * its future place, so that it checks the right file system. Throws if
 * programs that it would run as root were altered, or belong to another user.
 */
export async function* examineHost({
  dataDir,
  criuProgram,
  signal,
}: {
  dataDir: string;
  /** A CRIU of this host to try instead of the downloaded one. */
  criuProgram?: string | undefined;
  /** Ends a program that is being fetched. */
  signal?: AbortSignal | undefined;
}): AsyncGenerator<ProbeResult, void, undefined> {
  const scratchDir = toScratchFolder(resolve(dataDir));
  const { agentBundle } = findLocations();
  if (process.getuid?.() !== 0) {
    const results = await Array.fromAsync(probeHost({ agentBundle }));
    if (results.some(({ ok, needed }) => needed && !ok)) {
      yield* results;
      return;
    }
    await enterRootlessNamespace({ network: true });
  }
  const { rootless, stateDir } = toRootlessOptions();
  if (rootless && stateDir) {
    try {
      yield* probeHost({ agentBundle, scratchDir, rootless: { rootless, stateDir } });
      return;
    } finally {
      await leaveRootlessNamespace();
    }
  }
  const imagesDir = process.env.SKERRY_IMAGES_DIR ?? join(resolve(dataDir), 'images');
  const hasImages = existsSync(imagesDir);
  if (hasImages) requireOwn(imagesDir);
  const [criuDir, runscPath] = [join(imagesDir, 'criu'), join(imagesDir, 'runsc/runsc')];
  for (const folder of [criuDir, dirname(runscPath)].filter(existsSync)) {
    await checkPreparedPrograms(folder).catch((error: Error) => {
      throw new UserError(error.message);
    });
  }
  yield* probeHost({
    agentBundle,
    scratchDir,
    signal,
    // The banner of `up` reads the proofs. A host without a server gets no folder.
    ...(hasImages && { programsDir: imagesDir }),
    ...(criuProgram !== undefined ? { criuProgram } : existsSync(criuDir) && { criuDir }),
    ...(existsSync(runscPath) && { runscPath }),
  });
}

/** What is written there with the rights of this process must not lead elsewhere. Throws `UserError`. */
function requireOwn(folder: string): void {
  try {
    requireOwnFolder(folder);
  } catch (error) {
    throw new UserError(error instanceof Error ? error.message : String(error));
  }
}

/** In a server's folder, the subfolder for temporary files; else the nearest existing folder. */
export function toScratchFolder(dataDir: string): string {
  const run = join(dataDir, 'run');
  if (existsSync(run)) return run;
  let folder = dataDir;
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}
