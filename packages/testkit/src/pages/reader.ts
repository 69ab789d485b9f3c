import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { skerryProgram } from '../stack/skerry-program.ts';
import type { StackAddress } from '../stack/stack-client.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';

/**
 * A folder in which code of pages runs as it does for a reader: the packages are installed, `skerry` is on the path, and the
 * variables of the server are set. Removed on disposal.
 */
export interface Reader extends Disposable {
  path: string;
  /** Writes a file, and makes its folder. */
  write(file: string, text: string): void;
  /** Runs a program and resolves with what it printed. Rejects with its output when it fails. */
  run(program: string, argv: readonly string[], env?: Record<string, string>): Promise<string>;
  /** Compiles programs strictly, without output files. Throws with what the compiler reports. */
  check(files: readonly string[]): void;
}

const packages = {
  '@skerry/sdk': 'sdk',
  '@skerry/platform-client': 'platform-client',
  '@skerry/envd-client': 'envd-client',
  e2b: 'testkit/node_modules/e2b-newest',
  ws: 'testkit/node_modules/ws',
};
const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
  types: ['node'],
  typeRoots: [join(workspaceRoot, 'node_modules/@types')],
};

/** Makes such a folder for a server. */
export function createReader({ apiUrl, apiKey, domain, sandboxUrl }: StackAddress): Reader {
  const path = mkdtempSync(join(tmpdir(), 'skerry-reader-'));
  mkdirSync(join(path, 'node_modules/@skerry'), { recursive: true });
  for (const [name, folder] of Object.entries(packages))
    symlinkSync(join(workspaceRoot, 'packages', folder), join(path, 'node_modules', name));
  mkdirSync(join(path, 'bin'));
  writeFileSync(join(path, 'bin/skerry'), `#!/bin/sh\nexec '${process.execPath}' '${skerryProgram}' "$@"\n`);
  chmodSync(join(path, 'bin/skerry'), 0o755);
  writeFileSync(join(path, 'package.json'), '{ "private": true, "type": "module" }\n');
  // Without what says that the command was called by npm or sudo.
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|SKERRY_CHECKOUT$|SUDO_)/.test(name)),
  );
  const service = {
    SKERRY_API_URL: apiUrl,
    SKERRY_API_KEY: apiKey,
    SKERRY_DOMAIN: domain,
    SKERRY_SANDBOX_URL: sandboxUrl,
    E2B_API_KEY: apiKey,
    E2B_API_URL: apiUrl,
    E2B_SANDBOX_URL: sandboxUrl,
    XDG_CONFIG_HOME: join(path, 'config'),
    PATH: `${join(path, 'bin')}:${process.env.PATH}`,
  };
  return {
    path,
    write: (file, content) => {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), content);
    },
    run: async (command, argv, env = {}) => {
      const child = spawn(command, argv, {
        cwd: path,
        env: { ...inherited, ...service, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [printed, complained, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'exit') as Promise<[number | null]>,
      ]);
      if (code !== 0) throw new Error(`${command} ended with ${code}\n${printed}${complained}`);
      return printed;
    },
    check: (files) => {
      writeFileSync(join(path, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
      const tsc = join(workspaceRoot, 'node_modules/.bin/tsc');
      const { status, stdout } = spawnSync(tsc, ['-p', 'tsconfig.json'], { cwd: path, encoding: 'utf8' });
      if (status !== 0) throw new Error(stdout);
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
