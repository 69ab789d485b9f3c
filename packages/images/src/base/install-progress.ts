import type { OnProgress } from '../progress.ts';

interface Step {
  /** Matches the line of mmdebstrap's output with which the step starts. */
  pattern: RegExp;
  message: string;
  /** The part of the whole work that is complete by then. */
  from: number;
}

const steps: readonly Step[] = [
  { pattern: /^I: running apt-get update/, message: 'reading the package lists', from: 0.02 },
  { pattern: /^I: downloading packages/, message: 'downloading packages', from: 0.06 },
  { pattern: /^I: extracting archives/, message: 'unpacking the essential packages', from: 0.1 },
  { pattern: /^I: installing essential packages/, message: 'installing the essential packages', from: 0.15 },
  {
    pattern: /^I: installing remaining packages/,
    message: 'installing python, git and the others',
    from: 0.35,
  },
  { pattern: /^I: cleaning package lists/, message: 'cleaning up', from: 0.9 },
];

/**
 * Returns a reader of the lines of mmdebstrap, which reports each step. The longest one is reported again for each of its packages, with
 * the part that is complete.
 */
export function createInstallProgress(onProgress: OnProgress): (line: string) => void {
  let index = -1;
  let packageCount = 0;
  let doneCount = 0;
  return (line) => {
    const next = steps.findIndex(({ pattern }) => pattern.test(line));
    if (next !== -1) {
      index = next;
      packageCount = 0;
      doneCount = 0;
    } else if (/ (\d+) newly installed/.test(line)) {
      packageCount = Number(/ (\d+) newly installed/.exec(line)?.[1]);
    } else if (packageCount > 0 && /^(Unpacking|Setting up) /.test(line)) {
      doneCount += 1;
    } else return;
    const step = steps[index];
    if (step === undefined) return;
    const length = (steps[index + 1]?.from ?? 1) - step.from;
    // Each package is unpacked and set up.
    const part = packageCount === 0 ? 0 : Math.min(1, doneCount / (2 * packageCount));
    onProgress({ phase: 'install', message: step.message, fraction: step.from + part * length });
  };
}
