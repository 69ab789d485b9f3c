import { readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import dockerignore from '@balena/dockerignore';
import { toSandboxError } from '../../errors.ts';

/** The folder that a build copies from, with what it leaves out. Paths are below it, with `/`. */
export interface BuildFolder {
  /** Absolute, without links. */
  folder: string;
  isIgnored(path: string): boolean;
  /** Whether files of an ignored folder may be wanted nevertheless. */
  hasExceptions: boolean;
}

/** `ignoreFile` replaces `.dockerignore` of the folder if it exists. Throws `invalid_argument` when there is no such folder. */
export function openBuildFolder(folder: string, ignoreFile: string | undefined): BuildFolder {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw toSandboxError('invalid_argument', `the context "${folder}" is no folder`);
  const rules = (ignoreFile && readIfThere(ignoreFile)) ?? readIfThere(join(folder, '.dockerignore')) ?? '';
  // The declarations of the module name a default export, which a CommonJS module has as a property as well as itself.
  const ignored = dockerignore.default({ ignorecase: false }).add(rules);
  return {
    folder: realpathSync(folder),
    isIgnored: (path) => path !== '.' && ignored.ignores(path),
    hasExceptions: /^\s*!/m.test(rules),
  };
}

function readIfThere(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : undefined;
}
