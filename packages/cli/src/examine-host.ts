import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ProbeResult, probeHost } from '@skerry/runtime';
import { defaultDataFolder } from './data-folder.ts';
import { enterGround, leaveGround, toGroundOptions } from './ground.ts';

/**
 * Tries what sandboxes of this user need: of an ordinary one first what a ground takes and, where that is all there, the
 * rest in one, in this process that runs its command anew there.
 */
export async function examineHost({
  criuProgram,
}: {
  criuProgram?: string | undefined;
} = {}): Promise<ProbeResult[]> {
  if (process.getuid?.() !== 0) {
    const results = await probeHost();
    if (results.some(({ ok, needed }) => needed && !ok)) return results;
    await enterGround({ network: true });
  }
  const { ground, stateDir } = toGroundOptions();
  if (ground && stateDir) {
    try {
      return await probeHost({ ground: { ground, stateDir } });
    } finally {
      await leaveGround();
    }
  }
  const imagesDir = process.env.SKERRY_IMAGES_DIR ?? join(defaultDataFolder(), 'images');
  const [criuDir, runscPath] = [join(imagesDir, 'criu'), join(imagesDir, 'runsc/runsc')];
  return probeHost({
    ...(criuProgram !== undefined ? { criuProgram } : existsSync(criuDir) && { criuDir }),
    ...(existsSync(runscPath) && { runscPath }),
  });
}
