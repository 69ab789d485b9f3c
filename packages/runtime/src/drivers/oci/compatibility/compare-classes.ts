import type { CompatibilityClass, HostClass } from './compatibility-class.ts';

/** The name of each value in a reason. */
const names: Record<Exclude<keyof CompatibilityClass, 'cpuFlags'>, string> = {
  cpuVendor: 'vendor of the CPU',
  cpuFamily: 'family of the CPU',
  cpuModel: 'model of the CPU',
  kernelRelease: 'kernel',
  checkpointer: 'program for checkpoints',
  cgroupVersion: 'version of cgroups',
  level: 'isolation level',
  templateDigest: 'digest of the template',
  agentDigest: 'digest of the agent',
};

/**
 * The reasons why a checkpoint cannot be restored on a host, one for each value that differs; none when it can. The
 * class of a checkpoint is undefined where it was not recorded. Both classes have the same values.
 */
export const findClassDifferences = <T extends HostClass>(
  checkpoint: T | undefined,
  host: T | undefined,
): string[] => {
  if (checkpoint === undefined)
    return ['its class was not recorded: it can only be restored on the host that it was taken on'];
  if (host === undefined) return ['the class of this host is unknown'];
  const { cpuFlags, ...values } = host;
  const reasons = Object.entries(values).flatMap(([key, here]) => {
    const there = checkpoint[key as Exclude<keyof HostClass, 'cpuFlags'>];
    const name = names[key as keyof typeof names];
    return there === here ? [] : [`the ${name} was ${there} and is ${here} here`];
  });
  return [...reasons, ...describeFlags(checkpoint.cpuFlags, cpuFlags)];
};

/** Additional flags count as well: with them the kernel may save more of a processor's state than the images have. */
const describeFlags = (there: readonly string[], here: readonly string[]): string[] => {
  const missing = there.filter((flag) => !here.includes(flag));
  const more = here.filter((flag) => !there.includes(flag));
  return [
    ...(missing.length > 0 ? [`the CPU here lacks ${missing.join(' ')}`] : []),
    ...(more.length > 0 ? [`the CPU here has also ${more.join(' ')}`] : []),
  ];
};
