import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeFifo } from '../../../kernel/syscalls.ts';
import { toSandboxFolder } from '../folder.ts';
import { removeRemains } from './remains.ts';

/** A frozen file system: a process that writes to it cannot be killed until it is thawed. */
const freezeDisk = (dir: string): { path: string; thaw: () => void } => {
  const [image, path] = [join(dir, 'image'), join(dir, 'frozen')];
  mkdirSync(path);
  writeFileSync(image, '');
  truncateSync(image, 8 << 20);
  execFileSync('mkfs.ext4', ['-q', image]);
  execFileSync('mount', ['-o', 'loop', image, path]);
  execFileSync('fsfreeze', ['--freeze', path]);
  let isFrozen = true;
  const thaw = (): void => {
    if (isFrozen) execFileSync('fsfreeze', ['--unfreeze', path]);
    isFrozen = false;
  };
  onTestFinished(() => {
    thaw();
    execFileSync('umount', [path]);
  });
  return { path, thaw };
};

it('removes nothing while a process of a sandbox does not end, so that another call finds it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'skerry-remains-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const dataDir = join(dir, 'data');
  const folder = toSandboxFolder(dataDir, 'remaining1');
  for (const path of [join(dataDir, 'run'), folder.disk]) mkdirSync(path, { recursive: true });
  makeFifo(folder.livenessPipe);
  const frozen = freezeDisk(dir);
  const script = 'exec 3<>"$1"; exec touch "$2/file"';
  const child: ChildProcess = spawn('sh', ['-c', script, 'sh', folder.livenessPipe, frozen.path]);
  const ended = once(child, 'exit');
  await expect.poll(() => readFileSync(`/proc/${child.pid}/stat`, 'utf8')).toMatch(/^\d+ \(touch\) D /);

  const first = await removeRemains({ dataDir });
  expect(first).toEqual({
    sandboxes: 1,
    done: [],
    problems: [expect.stringMatching(`^processes do not end: ${child.pid};`)],
  });
  expect(existsSync(folder.livenessPipe)).toBe(true);

  frozen.thaw();
  await ended;
  const second = await removeRemains({ dataDir });
  expect(second.problems).toEqual([]);
  expect(second.sandboxes).toBe(1);
  expect(existsSync(folder.path)).toBe(false);
});
