import { join } from 'node:path';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { findProgram } from '../../../kernel/find-program.ts';
import { aptInstall } from '../../../probe.ts';
import { isProved } from '../criu/kept-proof.ts';

type FindObstacle = (host: { rootless: boolean; find: typeof findProgram }) => string | undefined;

const obstacles: Record<IsolationLevel, FindObstacle> = {
  container: ({ find }) =>
    find('crun') || find('runc') ? undefined : `it needs crun: ${aptInstall('crun')}`,
  gvisor: ({ rootless, find }) => {
    if (rootless) return 'it needs root';
    return find('runsc') || find('apt-get') ? undefined : 'it needs runsc, which only apt-get can fetch here';
  },
};

/**
 * Returns why no sandbox of that level starts on this host, with what enables it, as far as installed programs and the user show it;
 * undefined when nothing speaks against it. Starts nothing: `probeSandboxes` tries it.
 */
export function findLevelObstacle(
  level: IsolationLevel,
  { rootless, find = findProgram }: { rootless: boolean; find?: typeof findProgram },
): string | undefined {
  return obstacles[level]({ rootless, find });
}

/**
 * Whether a server with this folder of programs has started and resumed a sandbox of that level, on this kernel and with the programs
 * that a next one would use. Starts nothing: it reads what such a server has kept.
 */
export async function hasLevelWorked(
  level: IsolationLevel,
  { programsDir, find = findProgram }: { programsDir: string; find?: typeof findProgram },
): Promise<boolean> {
  const places = {
    container: { proof: 'criu-proof.json', programs: [join(programsDir, 'criu/criu')] },
    gvisor: { proof: 'gvisor-proof.json', programs: [find('runsc'), join(programsDir, 'runsc/runsc')] },
  };
  const { proof, programs } = places[level];
  for (const program of programs) {
    if (program !== undefined && (await isProved({ program, proofPath: join(programsDir, proof) })))
      return true;
  }
  return false;
}
