import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { waitForEntry } from './ready.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ready-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('waiting for an entry', () => {
  it('resolves when the entry gets its name, and not for another name', async () => {
    let isReady = false;
    const ready = waitForEntry(dir, 'control.sock', AbortSignal.timeout(30_000)).then(() => {
      isReady = true;
    });
    await writeFile(join(dir, 'control.sock.new'), '');
    await sleep(30);
    expect(isReady).toBe(false);
    await rename(join(dir, 'control.sock.new'), join(dir, 'control.sock'));
    await ready;
    expect(isReady).toBe(true);
  });

  it('resolves without another entry when the entry exists already', async () => {
    await writeFile(join(dir, 'there'), '');
    await expect(waitForEntry(dir, 'there', AbortSignal.timeout(30_000))).resolves.toBeUndefined();
  });

  it('rejects with the reason of its signal, before and while it waits', async () => {
    const reason = new Error('enough');
    await expect(waitForEntry(dir, 'x', AbortSignal.abort(reason))).rejects.toBe(reason);
    const abort = new AbortController();
    const waiting = waitForEntry(dir, 'x', abort.signal);
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});
