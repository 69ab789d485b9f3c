import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isFileLocked, tryFileLock, waitForFileLock, withFolderLock } from './file-lock.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'lock-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('the lock of a folder', () => {
  it('runs one work at a time, also when a holder removes the folder', async () => {
    const path = join(dir, 'state');
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        withFolderLock(path, async () => {
          most = Math.max(most, ++inside);
          await setTimeout(5);
          inside--;
          if (n % 3 === 0) await rmdir(path);
        }),
      ),
    );
    expect(most).toBe(1);
  });

  it('is free again when its holder is killed', async () => {
    const module = fileURLToPath(new URL('./file-lock.ts', import.meta.url));
    const script = `import { withFolderLock } from ${JSON.stringify(module)};
      await withFolderLock(${JSON.stringify(dir)}, () => { console.log('held'); return new Promise(() => setTimeout(() => {}, 60_000)); });`;
    const holder = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    let acquired = false;
    const waiting = withFolderLock(dir, async () => {
      acquired = true;
    });
    await setTimeout(200);
    expect(acquired).toBe(false);
    holder.kill('SIGKILL');
    await waiting;
    expect(acquired).toBe(true);
  });

  it('is released when the work fails', async () => {
    await expect(withFolderLock(dir, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await withFolderLock(dir, async () => 'free')).toBe('free');
  });

  it('rejects when another holder keeps it for longer than the wait', async () => {
    await withFolderLock(dir, async () => {
      const late = withFolderLock(dir, async () => undefined, { waitMs: 50 });
      await expect(late).rejects.toThrow(`kept ${dir} locked for 0.05 s`);
    });
  });

  it('reports the wait once, and rejects with the reason of its signal', async () => {
    const abort = new AbortController();
    let waits = 0;
    await withFolderLock(dir, async () => {
      const aborted = withFolderLock(dir, () => expect.unreachable(), {
        signal: abort.signal,
        onWait: () => {
          waits += 1;
          globalThis.setTimeout(() => abort.abort(new Error('no time')), 50);
        },
      });
      await expect(aborted).rejects.toThrow('no time');
    });
    expect(waits).toBe(1);
    await withFolderLock(dir, async () => undefined, { onWait: () => expect.unreachable() });
  });
});

describe('the lock of a file', () => {
  it('has one holder at a time, and the next one after its release', async () => {
    const path = join(dir, 'file');
    const first = tryFileLock(path);
    expect(tryFileLock(path)).toBeUndefined();
    expect(await waitForFileLock(path, { waitMs: 30 })).toBeUndefined();
    const waiting = waitForFileLock(path, { waitMs: 5_000 });
    first?.release();
    (await waiting)?.release();
    const next = tryFileLock(path);
    expect(next).toBeDefined();
    next?.release();
  });

  it('shows that it is held without being taken', async () => {
    const path = join(dir, 'file');
    expect(isFileLocked(path)).toBe(false);
    const lock = tryFileLock(path);
    expect(isFileLocked(path)).toBe(true);
    lock?.release();
    expect(isFileLocked(path)).toBe(false);
    expect(tryFileLock(path)).toBeDefined();
  });

  it('is not held by a program that its holder starts', async () => {
    const path = join(dir, 'file');
    const lock = tryFileLock(path);
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    await once(child, 'spawn');
    lock?.release();
    const next = tryFileLock(path);
    child.kill('SIGKILL');
    expect(next).toBeDefined();
    next?.release();
  });

  it('throws when its folder is missing', () => {
    expect(() => tryFileLock(join(dir, 'none', 'file'))).toThrow('ENOENT');
  });
});
