import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type ProbeResult, probeHost } from '@skerry/runtime';
import { enterGround, leaveGround, toGroundOptions } from './ground.ts';
import { findLocations } from './locations.ts';

/**
 * Tries what sandboxes of this user need. For an ordinary user it first checks what a rootless namespace needs; when that is
 * there, it re-executes this command in the namespace and checks the rest. Works beside the data folder, or where that would be
 * made, so that its file system is the one that is tried.
 */
export async function examineHost({
  dataDir,
  criuProgram,
}: {
  dataDir: string;
  /** A CRIU of this host to try in place of the one that is fetched. */
  criuProgram?: string | undefined;
}): Promise<ProbeResult[]> {
  const scratchDir = toScratchFolder(resolve(dataDir));
  const { agentBundle } = findLocations();
  if (process.getuid?.() !== 0) {
    const results = await probeHost({ agentBundle });
    if (results.some(({ ok, needed }) => needed && !ok)) return results;
    await enterGround({ network: true });
  }
  const { ground, stateDir } = toGroundOptions();
  if (ground && stateDir) {
    try {
      return await probeHost({ agentBundle, scratchDir, ground: { ground, stateDir } });
    } finally {
      await leaveGround();
    }
  }
  const imagesDir = process.env.SKERRY_IMAGES_DIR ?? join(resolve(dataDir), 'images');
  const [criuDir, runscPath] = [join(imagesDir, 'criu'), join(imagesDir, 'runsc/runsc')];
  return probeHost({
    agentBundle,
    scratchDir,
    ...(criuProgram !== undefined ? { criuProgram } : existsSync(criuDir) && { criuDir }),
    ...(existsSync(runscPath) && { runscPath }),
  });
}

/** Of a folder of a server the one that holds nothing which outlives it; else the nearest folder that is there. */
export function toScratchFolder(dataDir: string): string {
  const run = join(dataDir, 'run');
  if (existsSync(run)) return run;
  let folder = dataDir;
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}
