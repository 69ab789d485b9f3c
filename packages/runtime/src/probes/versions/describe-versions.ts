import type { ProbeResult } from '../../probe.ts';
import { type FoundVersion, judgeVersion } from './judge-version.ts';
import { readKernelVersion, readNodeVersion, readProgramVersion } from './read-versions.ts';
import { type SafeVersions, safeVersions } from './safe-versions.ts';

/** How to start the programs that skerry has unpacked, where it has. */
export interface UnpackedPrograms {
  criu?: readonly string[] | undefined;
  runsc?: readonly string[] | undefined;
}

/**
 * Says of each program that separates sandboxes from this host whether it is new enough to be safe. Programs that are
 * missing here have no line.
 */
export const describeVersions = async ({ criu, runsc }: UnpackedPrograms = {}): Promise<ProbeResult[]> => {
  const readers: Record<SafeVersions['program'], () => Promise<FoundVersion | undefined>> = {
    kernel: async () => readKernelVersion(),
    runsc: async () => runsc && readProgramVersion(runsc),
    criu: async () => criu && readProgramVersion(criu),
    node: async () => readNodeVersion(),
  };
  const results = await Promise.all(
    safeVersions.map(async (safe) => {
      const found = await readers[safe.program]();
      return found && judgeVersion(safe, found);
    }),
  );
  return results.filter((result) => result !== undefined);
};
