import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** npm failed. It has printed why. */
export class GeneratorInstallError extends Error {}

/**
 * Copies the program into the user's cache and installs what it imports, once for each content; returns the folder. Throws
 * `GeneratorInstallError` when npm fails, and leaves nothing then.
 */
export function installGenerator(program: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(program).toSorted()) hash.update(readFileSync(join(program, name)));
  const caches = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'skerry');
  const folder = join(caches, `generate-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(caches, { recursive: true });
  const making = mkdtempSync(`${folder}.`);
  try {
    cpSync(program, making, { recursive: true });
    const { dependencies } = JSON.parse(readFileSync(join(making, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const named = Object.entries(dependencies).map((entry) => entry.join(' '));
    process.stderr.write(`installing the generator: ${named.join(', ')}\n`);
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status, error } = spawnSync('npm', ['install', '--prefix', making, ...flags], {
      cwd: making,
      env: withoutProject(process.env),
      stdio: ['ignore', 2, 2],
    });
    if (status !== 0)
      throw new GeneratorInstallError(`npm could not install it${error ? `: ${error.message}` : ''}`);
    renameSync(making, folder);
  } catch (error) {
    // Another process was faster, and has made the same.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return folder;
}

/** The environment without what npx says of the project in which it runs; settings of registry and network stay. */
const withoutProject = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) =>
        !/^npm_(?!config_(registry|userconfig|globalconfig|cache|.*proxy|cafile|strict_ssl)$)/i.test(name),
    ),
  );
