import { readFileSync } from 'node:fs';
import { runCommand } from '../../kernel/run-command.ts';
import type { FoundVersion } from './judge-version.ts';

/**
 * The version of the kernel by which fixes are counted: that of the stable release it is made from, which Debian names in
 * `/proc/version`. Undefined for a distribution that counts on its own, such as Ubuntu's 6.8.0-60-generic.
 */
export const parseKernelVersion = (procVersion: string): string | undefined => {
  const debian = /\bDebian (\d+\.\d+\.\d+)/.exec(procVersion)?.[1];
  const [, release, patch] = /^Linux version (\d+\.\d+\.(\d+))/.exec(procVersion) ?? [];
  return debian ?? (patch === '0' ? undefined : release);
};

/** The version of the kernel that runs. Throws where `/proc` is missing. */
export const readKernelVersion = (): FoundVersion => ({
  version: parseKernelVersion(readFileSync('/proc/version', 'utf8')),
});

/** The first number with points, or the day of a release, in what `--version` prints. */
export const parseProgramVersion = (printed: string): string | undefined =>
  /\b(?:0\.0~)?(\d{8}|\d+\.\d+(?:\.\d+)?)/.exec(printed)?.[1];

/** Runs the program with `--version`; undefined when it does not run, which the probe that needs it reports. */
export const readProgramVersion = async ([file = '', ...args]: readonly string[]): Promise<
  FoundVersion | undefined
> => {
  const printed = await runCommand({ file, args: [...args, '--version'] }).catch(() => undefined);
  return printed === undefined ? undefined : { version: parseProgramVersion(printed) };
};

/** The version of the Node that runs this, which the agents of new sandboxes use too. */
export const readNodeVersion = (): FoundVersion => ({ version: process.versions.node });
