import type { SafeVersions } from './safe-versions.ts';

const toNumbers = (version: string): number[] => version.split('.').map(Number);

/** Negative when the first of two versions, numbers with points, is older. Missing numbers count as zero. */
export const compareVersions = (one: string, other: string): number => {
  const [left, right] = [toNumbers(one), toNumbers(other)];
  for (let place = 0; place < Math.max(left.length, right.length); place += 1) {
    const difference = (left[place] ?? 0) - (right[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
};

/** Whether a version is at least the oldest safe one of its line, or is of a line above all of them. */
export const isSafe = (
  version: string,
  { least, lineNumbers }: Pick<SafeVersions, 'least' | 'lineNumbers'>,
): boolean => {
  const newest = least.at(-1);
  if (newest === undefined || compareVersions(version, newest) >= 0) return true;
  const toLine = (one: string): string => toNumbers(one).slice(0, lineNumbers).join('.');
  const ofLine = least.find((oldest) => toLine(oldest) === toLine(version));
  return ofLine !== undefined && compareVersions(version, ofLine) >= 0;
};
