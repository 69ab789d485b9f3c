import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { spawn as spawnOnTerminal } from '@lydell/node-pty';
import { expect, it, onTestFailed, onTestFinished } from 'vitest';
import { imagesDir } from '../stack/images-dir.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';

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
  return { text: stripVTControlCharacters(screen).replaceAll('\r', ''), ended };
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
