import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptLivenessPipe, createLivenessPipe } from './liveness-pipe.ts';

let dir: string;
let path: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'life-'));
  path = join(dir, 'life');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('a liveness pipe', () => {
  it('ends when the last process closes its writing end, and not before', async () => {
    const { line, writeFd } = createLivenessPipe(path);
    const second = openSync(path, constants.O_WRONLY);
    closeSync(writeFd);
    await sleep(20);
    expect(line.isEnded()).toBe(false);
    closeSync(second);
    await line.ended;
    expect(line.isEnded()).toBe(true);
  });

  it('can be opened by a second reader while a process holds the writing end', async () => {
    const { line, writeFd } = createLivenessPipe(path);
    line.close();
    const adopted = adoptLivenessPipe(path);
    expect(adopted?.isEnded()).toBe(false);
    closeSync(writeFd);
    await adopted?.ended;
    expect(adopted?.isEnded()).toBe(true);
  });

  it('cannot be opened when no process holds it or it was never made', () => {
    expect(adoptLivenessPipe(path)).toBeUndefined();
    const { line, writeFd } = createLivenessPipe(path);
    closeSync(writeFd);
    line.close();
    expect(adoptLivenessPipe(path)).toBeUndefined();
  });

  it('ends for its reader when a process writes to it', async () => {
    const { line, writeFd } = createLivenessPipe(path);
    writeSync(writeFd, 'x');
    await line.ended;
    closeSync(writeFd);
    expect(line.isEnded()).toBe(true);
  });

  it('never ends for a reader that has closed it', async () => {
    const { line, writeFd } = createLivenessPipe(path);
    line.close();
    closeSync(writeFd);
    const first = await Promise.race([line.ended.then(() => 'ended'), sleep(30, 'still open')]);
    expect(first).toBe('still open');
  });
});
