// The one entry point that needs only Node >= 18 and npm: it installs the pinned pnpm and Node, then runs a job with
// them.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [job = 'setup', ...args] = process.argv.slice(2);

const jobs = {
  setup: [],
  demo: [
    ['node', 'scripts/system-packages.ts'],
    ['turbo', 'run', 'build', '--filter=@skerry/envd', '--output-logs=errors-only'],
    ['node', 'scripts/demo.ts'],
  ],
  test: [
    ['node', 'scripts/system-packages.ts', '--tests'],
    // Without generating code: what is committed is compared with the specs later.
    ['turbo', 'run', 'build', '--only', '--output-logs=errors-only'],
    ['node', 'scripts/test.ts'],
  ],
  'test:more': [
    ['node', 'scripts/system-packages.ts', '--more'],
    ['turbo', 'run', 'build', '--only', '--output-logs=errors-only'],
    ['node', 'scripts/test-more.ts'],
  ],
  skerry: [
    ['turbo', 'run', 'build', '--filter=@skerry/envd', '--output-logs=errors-only'],
    ['node', join(root, 'packages/cli/src/main.ts')],
  ],
  example: [['node', join(root, 'examples/run.ts')]],
};
if (!(job in jobs)) {
  console.error(`unknown job "${job}"; known: ${Object.keys(jobs).join(', ')}`);
  process.exit(2);
}

/** The environment of the tools: the pinned ones first on PATH, without settings of npm. */
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

/**
 * What `npm view @pnpm/exe.PLATFORM@VERSION dist.integrity` prints for the version that package.json pins. npm refuses a package that
 * differs.
 */
const pnpmIntegrity = {
  'linux-arm64':
    'sha512-4Oj/iF2TDCe2lcH0n4TupPR5sSdrNLclJB6xBElLMPCUOAvBhdf2rRlSaO5M4erJ6g4Fyy7YTXTpcmfFsKyxEA==',
  'linux-x64':
    'sha512-8eufCjHXspKbNS/kh8q4Q0gqJoOuvC4Q5pgos6XS8By/nAMtP+jf8F1Cw9er840kfAX+PJ/ts+A9qnLE91rvXQ==',
};

/** Lets `npm ci` install that one package, with that content. */
function writeLock(home, { name, version }) {
  const platform = `${process.platform}-${process.arch}`;
  const integrity = pnpmIntegrity[platform];
  if (integrity === undefined) {
    console.error(`no hash of pnpm is pinned for ${platform} in scripts/run.mjs`);
    process.exit(1);
  }
  const dependencies = { [name]: version };
  const packages = { '': { dependencies }, [`node_modules/${name}`]: { version, integrity } };
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies }));
  writeFileSync(
    join(home, 'package-lock.json'),
    JSON.stringify({ lockfileVersion: 3, requires: true, packages }),
  );
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
    writeLock(home, { name, version });
    run('npm', ['ci', '--prefix', home, '--ignore-scripts', '--no-audit', '--no-fund'], process.env);
    mkdirSync(bin);
    symlinkSync(join('..', 'node_modules', name, 'pnpm'), join(bin, 'pnpm'));
  }
  return bin;
}

/** Runs a preparing step; its output goes to stderr so that a job's own output stays clean. Exits when it fails. */
function run(command, argv, env) {
  const result = spawnSync(command, argv, { cwd: root, env, stdio: ['ignore', 2, 2] });
  if (result.error) console.error(`${command}: ${result.error.message}`);
  if (result.status !== 0) process.exit(result.status ?? 1);
}

const quietMs = 2000;

/**
 * Runs a preparing step of a job that people call many times a day: its output is shown when it fails, and its name when it takes
 * more than a moment. Exits when it fails.
 */
async function runQuietly(command, argv, env) {
  const child = spawn(command, argv, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  child.on('error', (error) => output.push(Buffer.from(`${command}: ${error.message}\n`)));
  const timer = setTimeout(() => console.error('building what has changed'), quietMs);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  if (code === 0) return;
  process.stderr.write(Buffer.concat(output));
  process.exit(code > 0 ? code : 1);
}

const bin = ensurePnpm();
const env = toolEnvironment(bin);
run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline', '--reporter=silent'], env);

const steps = jobs[job];
for (const [command, ...argv] of steps.slice(0, -1)) {
  if (job === 'skerry') await runQuietly(command, argv, env);
  else run(command, argv, env);
}

const last = steps.at(-1);
if (last) {
  const [command, ...argv] = last;
  const child = spawn(command, [...argv, ...args], {
    // With it, "up" prints lines that call this script.
    env: { ...env, SKERRY_CHECKOUT: root },
    stdio: 'inherit',
    cwd: job === 'skerry' ? process.cwd() : root,
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}
