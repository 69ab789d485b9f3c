import { readFileSync, realpathSync } from 'node:fs';
import { findProgram } from '../../kernel/find-program.ts';
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

/** Undefined when there is no such program. A name alone is looked up in the system's folders. */
export const readProgramVersion = async ([file = '', ...args]: readonly string[]): Promise<
  FoundVersion | undefined
> => {
  const path = file.includes('/') ? file : findProgram(file);
  if (path === undefined) return undefined;
  // A program that does not run is reported by the probe that needs it; it has no version to compare.
  const printed = await runCommand({ file: path, args: [...args, '--version'] }).catch(() => undefined);
  if (printed === undefined) return undefined;
  return { version: parseProgramVersion(printed), packaged: await findPackage(path) };
};

/** The version of the Node that runs this, which the agents of new sandboxes use too. */
export const readNodeVersion = async (): Promise<FoundVersion> => ({
  version: process.versions.node,
  packaged: await findPackage(process.execPath),
});

/** The package that a file is part of, with its version; undefined without dpkg. */
const findPackage = async (path: string): Promise<string | undefined> => {
  const real = realpathSync(path);
  const query = async (...args: string[]): Promise<string> =>
    runCommand({ file: 'dpkg-query', args }).catch(() => '');
  // Packages from before the merge of /usr list their files below the root.
  const owner = (await query('-S', real)) || (await query('-S', real.replace(/^\/usr/, '')));
  const name = /^([\w.+-]+)(?::\w+)?: /.exec(owner)?.[1];
  // A line of name and version.
  return name === undefined ? undefined : (await query('-W', name)).trim().replace('\t', ' ');
};
