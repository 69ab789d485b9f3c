import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLivenessPipe } from '../container/liveness-pipe.ts';
import { endDump } from './end-dump.ts';

let dir: string;
let path: string;
let child: ChildProcess | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dump-'));
  path = join(dir, 'line');
});
afterEach(async () => {
  child?.kill('SIGKILL');
  child = undefined;
  await rm(dir, { recursive: true, force: true });
});

/** A process that holds the pipe for so long, and whose parent has ended. */
const hold = (seconds: string): Promise<string | number> => {
  const { line, writeFd } = createLivenessPipe(path);
  const holder = spawn('sleep', [seconds], { stdio: ['ignore', 'ignore', 'ignore', writeFd] });
  closeSync(writeFd);
  line.close();
  child = holder;
  return new Promise((resolve) => holder.on('exit', (code, signal) => resolve(code ?? signal ?? '')));
};

describe('a dump that outlived its helper', () => {
  it('is waited for', async () => {
    const exited = hold('0.3');
    // Longer than a test may take.
    await endDump(path, { deadlineMs: 1_000_000 });
    expect(await exited).toBe(0);
  });

  it('is killed at the deadline', async () => {
    const exited = hold('1000');
    await endDump(path, { deadlineMs: 100 });
    expect(await exited).toBe('SIGKILL');
  });

  it('takes no time when it has ended or was never begun', async () => {
    await endDump(path, { deadlineMs: 20_000 });
    const exited = hold('0');
    await exited;
    await endDump(path, { deadlineMs: 20_000 });
  });
});
