// The one entry point that needs only Node >= 18 and npm: it installs the pinned pnpm and Node, then runs a job with
// them.
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuilt, noteBuilt } from './run/built-state.mjs';
import { runLast, runStep } from './run/steps.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [job = 'setup', ...args] = process.argv.slice(2);

const buildAgent = ['turbo', 'run', 'build', '--filter=@skerry/envd', '--output-logs=errors-only'];
// Without generating code: what is committed is compared with the specs later.
const buildAll = ['turbo', 'run', 'build', '--only', '--output-logs=errors-only'];
const packages = ['node', 'scripts/system-packages.ts'];

/** What is built for a job, what prepares this host, and the job itself. */
const jobs = {
  setup: {},
  demo: { build: buildAgent, prepare: [packages], run: ['node', 'scripts/demo.ts'] },
  test: { build: buildAll, prepare: [[...packages, '--tests']], run: ['node', 'scripts/test.ts'] },
  'test:more': { build: buildAll, prepare: [[...packages, '--more']], run: ['node', 'scripts/test-more.ts'] },
  skerry: { build: buildAgent, run: ['node', join(root, 'packages/cli/src/main.ts')] },
  example: { build: buildAgent, run: ['node', join(root, 'examples/run.ts')] },
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

/** Installs the pnpm that package.json pins into `.toolchain`, once, and resolves with the folder of its command. */
async function ensurePnpm() {
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
    const argv = ['ci', '--prefix', home, '--ignore-scripts', '--no-audit', '--no-fund'];
    await runStep(['npm', ...argv], { cwd: root, env: process.env });
    mkdirSync(bin);
    symlinkSync(join('..', 'node_modules', name, 'pnpm'), join(bin, 'pnpm'));
  }
  return bin;
}

const bin = await ensurePnpm();
const env = toolEnvironment(bin);
const install = ['pnpm', 'install', '--frozen-lockfile', '--prefer-offline', '--reporter=silent'];
const { prepare = [], build, run } = jobs[job];
// People call these many times a day.
const title = job === 'skerry' || job === 'example' ? 'building what has changed' : undefined;
if (build !== buildAgent || !isBuilt(root)) {
  await runStep(install, { cwd: root, env });
  if (build) await runStep(build, { cwd: root, env, title });
  if (build === buildAgent) noteBuilt(root);
}
for (const step of prepare) await runStep(step, { cwd: root, env });
if (run)
  await runLast([...run, ...args], {
    // With it, "up" prints lines that call this script. Tests call the command in other ways.
    env: job === 'skerry' ? { ...env, SKERRY_CHECKOUT: root } : env,
    cwd: job === 'skerry' ? process.cwd() : root,
  });
