import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workspaceRoot } from '../../workspace/workspace-copy.ts';

/** A folder of its own with packages of npm, in which programs run as they do for a user. */
export interface NpmProject {
  readonly path: string;
  /** Runs a program to its end, and resolves with what it printed. Its output is part of the error when it does not end with 0. */
  run(command: string, argv: readonly string[], env: Record<string, string>): Promise<string>;
  remove(): void;
}

/** Installs packages, of which the own ones are those of this checkout. */
export async function installProject(dependencies: Readonly<Record<string, string>>): Promise<NpmProject> {
  const path = mkdtempSync(join(tmpdir(), 'skerry-programs-'));
  let running: ChildProcess | undefined;
  const run: NpmProject['run'] = async (command, argv, env) => {
    // Settings of a surrounding pnpm, of the test runner and of a client of this user are none of the project's.
    const clean = Object.entries(process.env).filter(
      ([name]) => !/^npm_|^NODE_OPTIONS$|^VITEST|^E2B_|^SKERRY_/i.test(name),
    );
    const child = spawn(command, argv, {
      cwd: path,
      env: { ...Object.fromEntries(clean), HOME: path, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running = child;
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0)
      throw new Error(`${command} ${argv.join(' ')} ended with ${code}\n${output.stdout}${output.stderr}`);
    return output.stdout;
  };
  writeFileSync(join(path, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  // The user's own settings name the registry.
  const env = process.env.HOME === undefined ? {} : { HOME: process.env.HOME };
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], env);
  mkdirSync(join(path, 'node_modules/@skerry'));
  for (const name of ['sdk', 'platform-client', 'envd-client'])
    symlinkSync(join(workspaceRoot, 'packages', name), join(path, 'node_modules/@skerry', name));
  return {
    path,
    run,
    remove: () => {
      running?.kill();
      rmSync(path, { recursive: true, force: true });
    },
  };
}
