import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type ProbeResult, probeHost } from '@skerry/runtime';
import { enterGround, leaveGround, toGroundOptions } from './ground.ts';
import { findLocations } from './locations.ts';

/**
 * Tries what sandboxes of this user need: of an ordinary one first what a ground takes and, where that is all there, the
 * rest in one, in this process that runs its command anew there. Works beside what is in the data folder, or where that
 * would be made, so that its file system is the one that is tried.
 */
export async function examineHost({ dataDir }: { dataDir: string }): Promise<ProbeResult[]> {
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
    ...(existsSync(criuDir) && { criuDir }),
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
