import type { ProbeResult } from '../probe.ts';
import { isSafe } from './compare-versions.ts';
import type { SafeVersions } from './safe-versions.ts';

/** A program of this host. */
export interface FoundVersion {
  /** Numbers with points; undefined where the program does not say it in such a form. */
  version: string | undefined;
  /** The package of a distribution that it is part of, with that package's own version. */
  packaged?: string | undefined;
}

/** Says whether a program is new enough. A result that is off is a warning: sandboxes work. */
export const judgeVersion = (safe: SafeVersions, { version, packaged }: FoundVersion): ProbeResult => {
  const { program, least, reason, mend } = safe;
  const about = { name: `${program} version`, needed: false };
  const named =
    packaged === undefined ? `${version ?? 'no number'}` : `${version ?? 'no number'}, package ${packaged}`;
  if (version !== undefined && isSafe(version, safe)) return { ...about, ok: true, found: named };
  const since = `${least.join(', ')} fix ${reason}`;
  const isUnknown = version === undefined || (packaged !== undefined && safe.isPatchedByDistributions);
  // A distribution fixes defects under the number that it has released.
  if (isUnknown)
    return { ...about, ok: true, found: `unknown whether it is safe: ${named}; ${since}; ${mend}` };
  return { ...about, ok: false, found: `${named} is too old to be safe: ${since}`, mend };
};
