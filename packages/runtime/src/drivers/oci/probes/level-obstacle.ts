import type { IsolationLevel } from '@skerry/contract/isolation';
import { findProgram } from '../../../kernel/find-program.ts';
import { aptInstall } from '../../../probes/probe.ts';

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
