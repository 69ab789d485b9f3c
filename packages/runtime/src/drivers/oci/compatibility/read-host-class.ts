import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { type HostClass, type HostClassFacts, toHostClass } from './compatibility-class.ts';
import { parseCpuinfo } from './cpu-facts.ts';

interface VersionedProgram {
  readVersion(): Promise<string | undefined>;
}

/**
 * Returns a function that resolves with the class of this host, which is read once. Undefined where it cannot be read,
 * or nothing writes checkpoints here: what this host then writes can be restored here only.
 */
export const createHostClassReader = (
  options: Pick<HostClassFacts, 'cgroups' | 'level'> & {
    criu: VersionedProgram | undefined;
    sentry: VersionedProgram | undefined;
  },
): (() => Promise<HostClass | undefined>) => {
  let known: Promise<HostClass | undefined> | undefined;
  return () => {
    known ??= readHostClass(options).catch((error: unknown) => {
      console.error('the class of this host cannot be read:', error);
      // The next checkpoint may find it.
      known = undefined;
      return undefined;
    });
    return known;
  };
};

const readHostClass = async ({
  criu,
  sentry,
  cgroups,
  level,
}: Parameters<typeof createHostClassReader>[0]): Promise<HostClass | undefined> => {
  const [version, cpuinfo] = await Promise.all([
    (criu ?? sentry)?.readVersion(),
    readFile('/proc/cpuinfo', 'utf8'),
  ]);
  const cpu = parseCpuinfo(cpuinfo);
  if (version === undefined || cpu === undefined) return undefined;
  const name = criu ? 'criu' : 'runsc';
  return toHostClass({ cpu, kernelRelease: release(), checkpointer: { name, version }, cgroups, level });
};
