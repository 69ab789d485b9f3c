import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { workspaceRoot } from './workspace-copy.ts';

/** The wait for a program blocks the limits of the tests too: a registry that stalls must not hold up the run. */
const LONGEST_MS = 300_000;

/** A project of a user, outside of this workspace. Removed on disposal. */
export interface OutsideProject extends Disposable {
  path: string;
  /** Runs a program in it, as a user would, and returns what it printed. Throws with its output when it fails. */
  run(command: string, argv: readonly string[], env?: Record<string, string>): string;
  /** Writes files by name, and folders above them. */
  write(files: Record<string, string>): void;
  /** Compiles programs strictly, declarations included, without writing anything. Throws with what the compiler reports. */
  check(files: readonly string[], options?: Record<string, unknown>): void;
}

/** Packs one package and installs the tarball, and nothing else, into a new project. */
export function installAlone(name: string): OutsideProject {
  const path = mkdtempSync(join(tmpdir(), `skerry-${name}-`));
  runOutside(join(workspaceRoot, 'packages', name), 'pnpm', ['pack', '--out', join(path, 'package.tgz')]);
  const project: OutsideProject = {
    path,
    run: (command, argv, env) => runOutside(path, command, argv, env),
    write: (files) => {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(path, file)), { recursive: true });
        writeFileSync(join(path, file), text);
      }
    },
    check: (files, options = {}) => {
      const compilerOptions = {
        module: 'nodenext',
        target: 'es2023',
        lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
        strict: true,
        noEmit: true,
        types: [],
        ...options,
      };
      writeFileSync(join(path, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
      runOutside(path, join(workspaceRoot, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json']);
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
  project.write({ 'package.json': '{ "name": "consumer", "private": true, "type": "module" }\n' });
  project.run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', './package.tgz']);
  return project;
}

function runOutside(
  cwd: string,
  command: string,
  argv: readonly string[],
  env: Record<string, string> = {},
): string {
  // Settings of a surrounding pnpm and of the test runner are none of the user's.
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_OPTIONS$|^VITEST/i.test(name)),
  );
  const result = spawnSync(command, argv, {
    cwd,
    encoding: 'utf8',
    env: { ...clean, ...env },
    timeout: LONGEST_MS,
  });
  if (result.status !== 0)
    throw new Error(
      `${command} ${argv.join(' ')} ended with ${result.status ?? result.signal}\n${result.stdout}${result.stderr}`,
    );
  return result.stdout;
}
