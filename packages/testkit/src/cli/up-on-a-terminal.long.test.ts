import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { spawn as spawnOnTerminal } from '@lydell/node-pty';
import { expect, it, onTestFailed, onTestFinished } from 'vitest';
import { imagesDir } from '../stack/images-dir.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { patience } from '../workspace/patience.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { openTerminal } from './open-terminal.ts';

/** `npm run -s skerry -- up` on a terminal, until it is ready; resolves with what the user sees. */
async function startInCheckout(dataDir: string) {
  const argv = ['run', '-s', 'skerry', '--', 'up', '--port', '0', '--data', dataDir, '--images', imagesDir];
  const terminal = spawnOnTerminal('npm', argv, { cols: 300, rows: 60, name: 'xterm', cwd: workspaceRoot });
  let screen = '';
  onTestFailed(() => console.error(screen));
  const ended = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  await new Promise<void>((resolve, reject) => {
    terminal.onData((data) => {
      screen += data;
      if (/Ctrl-C stops[\s\S]*\n {2}npm [^\n]* down [^\n]*\n/.test(screen)) resolve();
    });
    void ended.then((code) => reject(new Error(`it ended with ${code}\n${screen}`)));
  });
  return { terminal, text: stripVTControlCharacters(screen).replaceAll('\r', ''), ended };
}

it('prints lines that can be pasted into another terminal, in the form in which it was called, and no banner of a tool', async () => {
  const dataDir = join(await mkdtemp(join(tmpdir(), 'skerry-up-')), 'data');
  onTestFinished(() => rm(join(dataDir, '..'), { recursive: true }));
  const { text, ended } = await startInCheckout(dataDir);
  expect(text).not.toMatch(/turbo/i);
  const lines = text.split('\n').filter((line) => line.startsWith('  '));
  const at = lines.findIndex((line) => line.startsWith('  cd '));
  const down = lines.at(-1) ?? '';
  const script = `set -e\n${[...lines.slice(at, at + 4), down].join('\n')}`;
  // The variables are those of another terminal: without the data folder, and without what npm has set for this test.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: '/', env });
  expect(stdout).toBe('hello\nhello from a sandbox\n\nstopped 0 sandboxes\n');
  expect(await ended).toBe(0);
});

it('stops serving at Ctrl-C in a checkout, once, and leaves no address of a server', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-up-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const dataDir = join(folder, 'data');
  const { terminal, ended } = await startInCheckout(dataDir);
  terminal.write('\u0003');
  await ended;
  const argv = [...['run', '-s', 'skerry', '--'], 'down', '--data', dataDir];
  const { stdout } = await promisify(execFile)('npm', argv, { cwd: workspaceRoot });
  expect(stdout).toMatch(/^nothing to stop/);
});

it('starts an unchanged checkout within 2 s, without pnpm and without turbo', async () => {
  const argv = ['scripts/run.mjs', 'skerry', '--version'];
  const start = () =>
    promisify(execFile)(process.execPath, argv, {
      cwd: workspaceRoot,
      env: { ...process.env, NODE_DEBUG: 'child_process' },
    });
  const { stdout } = await start();
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  // Another program may have the processors during one of them.
  const timesMs: number[] = [];
  for (let count = 0; count < 3; count++) {
    const startedAt = performance.now();
    const { stderr } = await start();
    timesMs.push(performance.now() - startedAt);
    expect(Array.from(stderr.matchAll(/^ {2}file: '([^']+)'/gm), ([, file]) => file)).toEqual(['node']);
  }
  expect(Math.min(...timesMs)).toBeLessThan(2_000 * patience);
});

it.each([
  { moment: 'while package lists are read', seen: /reading the package lists/ },
  { moment: 'while packages are installed', seen: /installing the essential packages/ },
])('ends a first start at once at Ctrl-C $moment, with one line and status 130', async ({ seen }) => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-up-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const argv = ['up', '--port', '0', '--data', join(folder, 'data'), '--images', join(folder, 'images')];
  const up = openTerminal(skerryProgram, [...argv, '--base', 'minimal'], { cwd: folder });
  await up.see(seen);
  up.terminal.write('\u0003');
  const pressedAt = performance.now();
  await up.see(/\^C\nskerry: stopped/);
  expect(performance.now() - pressedAt).toBeLessThan(1_000 * patience);
  const before = up.text().split('^C')[0] ?? '';
  expect(await up.ended).toBe(130);
  // What it has unpacked is removed before it ends.
  expect(performance.now() - pressedAt).toBeLessThan(3_000 * patience);
  expect(up.text().slice(before.length)).toBe('^C\nskerry: stopped before it was ready\n');
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
  expect(stdout).not.toContain(folder);
  expect((await readdir(join(folder, 'images'))).filter((name) => name.startsWith('base-'))).toEqual([]);
});

it('tries the other level when it is ready, prints what it found, and knows it at the next start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-up-'));
  // Links to the images and programs of other tests, on the file system that they are on, without their proof.
  const images = await mkdtemp(join(imagesDir, '../images-'));
  const dataDir = join(folder, 'data');
  onTestFinished(async () => {
    await promisify(execFile)(skerryProgram, ['down', '--data', dataDir]);
    for (const one of [folder, images]) await rm(one, { recursive: true });
  });
  await promisify(execFile)('cp', ['-al', `${imagesDir}/.`, images]);
  const proof = join(images, 'gvisor-proof.json');
  await rm(proof, { force: true });
  const argv = ['up', '--port', '0', '--data', dataDir, '--images', images, '--base', 'minimal'];
  const start = () => openTerminal(skerryProgram, argv, { cwd: folder });
  const stop = async (up: ReturnType<typeof start>): Promise<void> => {
    up.terminal.write('\u0003');
    expect(await up.ended).toBe(0);
  };

  const first = start();
  await first.see(/^level gvisor works here: \S.* up --isolation gvisor$/m);
  expect(first.text()).toMatch(/--isolation gvisor \(being tried; missing programs are fetched\)\n/);
  await stop(first);

  const second = start();
  await second.see(/Ctrl-C stops[\s\S]* down /);
  expect(second.text()).toMatch(/--isolation gvisor works here\n/);
  await stop(second);
  expect(second.text()).not.toContain('level gvisor');

  await rm(proof);
  const third = start();
  await third.see(/Ctrl-C stops[\s\S]* down /);
  await stop(third);
  expect(third.text()).not.toContain('level gvisor');
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
  expect(stdout).not.toContain(folder);
  expect((await readdir(join(dataDir, 'run'))).filter((name) => name.startsWith('skerry-probe-'))).toEqual(
    [],
  );
});
