import { spawnSync } from 'node:child_process';

/** Runs a program as a user outside this workspace would, and returns what it printed. Throws with its output when it fails. */
export function run(
  program: string,
  argv: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): string {
  // Settings of a surrounding pnpm and of this repository's toolchain are none of the user's.
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_OPTIONS$|^VITEST/i.test(name)),
  );
  const result = spawnSync(program, argv, {
    cwd,
    env: { ...clean, ...env },
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (result.status === 0) return result.stdout;
  const said = `${result.error?.message ?? ''}${result.stdout ?? ''}${result.stderr ?? ''}`;
  throw new Error(`${program} ${argv.join(' ')} ended with ${result.status ?? result.signal}\n${said}`);
}
