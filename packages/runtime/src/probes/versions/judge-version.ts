import type { ProbeResult } from '../../probe.ts';
import { isSafe } from './compare-versions.ts';
import type { SafeVersions } from './safe-versions.ts';

/** A program of this host. */
export interface FoundVersion {
  /** Numbers with points; undefined where the program does not say it in such a form. */
  version: string | undefined;
}

/** Says whether a program is new enough. A result that is off is a warning: sandboxes work. */
export const judgeVersion = (safe: SafeVersions, { version }: FoundVersion): ProbeResult => {
  const { program, least, reason, mend } = safe;
  const about = { name: `${program} version`, needed: false };
  const since = `${least.join(', ')} fix ${reason}`;
  // A distribution that counts its kernels on its own fixes defects under the number that it has released.
  if (version === undefined)
    return { ...about, ok: true, found: `unknown whether it is safe: no number; ${since}; ${mend}` };
  if (isSafe(version, safe)) return { ...about, ok: true, found: version };
  return { ...about, ok: false, found: `${version} is too old to be safe: ${since}`, mend };
};
