// The one entry that needs nothing but Node >= 18 and npm: it brings the pinned pnpm and Node, then runs a job with them.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [job = 'setup', ...args] = process.argv.slice(2);

const jobs = {
  setup: [],
  demo: [
    ['node', 'scripts/system-packages.ts'],
    ['turbo', 'run', 'build', '--output-logs=errors-only'],
    ['node', 'scripts/demo.ts'],
  ],
  test: [
    ['node', 'scripts/system-packages.ts'],
    ['turbo', 'run', 'build', '--output-logs=errors-only'],
    ['node', 'scripts/test.ts'],
  ],
  skerry: [
    ['turbo', 'run', 'build', '--filter=@skerry/envd', '--output-logs=errors-only'],
    ['node', join(root, 'packages/cli/src/main.ts')],
  ],
};
if (!(job in jobs)) {
  console.error(`unknown job "${job}"; known: ${Object.keys(jobs).join(', ')}`);
  process.exit(2);
}

/** The environment of the tools: the pinned ones first on PATH, nothing left over from npm. */
function toolEnvironment(bin) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  return {
    ...env,
    PATH: [bin, join(root, 'node_modules/.bin'), env.PATH].join(':'),
    TURBO_TELEMETRY_DISABLED: '1',
    REDOCLY_TELEMETRY: 'off',
    NODE_NO_WARNINGS: '1',
  };
}

/** Installs the pnpm that package.json pins into `.toolchain`, once, and returns the folder of its command. */
function ensurePnpm() {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const version = packageManager.split('@')[1];
  const home = join(root, '.toolchain', `pnpm-${version}`);
  const bin = join(home, 'bin');
  if (!existsSync(join(bin, 'pnpm'))) {
    const name = `@pnpm/exe.${process.platform}-${process.arch}`;
    console.error(`installing ${name}@${version}`);
    rmSync(home, { recursive: true, force: true });
    mkdirSync(home, { recursive: true });
    run(
      'npm',
      ['install', '--prefix', home, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`],
      process.env,
    );
    mkdirSync(bin);
    symlinkSync(join('..', 'node_modules', name, 'pnpm'), join(bin, 'pnpm'));
  }
  return bin;
}

/** Runs a preparing step; its output goes to stderr so that a job's own output stays clean. Ends this process when it fails. */
function run(command, argv, env) {
  const result = spawnSync(command, argv, { cwd: root, env, stdio: ['ignore', 2, 2] });
  if (result.error) console.error(`${command}: ${result.error.message}`);
  if (result.status !== 0) process.exit(result.status ?? 1);
}

const bin = ensurePnpm();
const env = toolEnvironment(bin);
run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline', '--reporter=silent'], env);

const steps = jobs[job];
for (const [command, ...argv] of steps.slice(0, -1)) run(command, argv, env);

const last = steps.at(-1);
if (last) {
  const [command, ...argv] = last;
  const child = spawn(command, [...argv, ...args], {
    env,
    stdio: 'inherit',
    cwd: job === 'skerry' ? process.cwd() : root,
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}
