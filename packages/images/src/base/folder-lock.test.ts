import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockFolder } from './folder-lock.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-folder-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('lockFolder', () => {
  it('lets the second caller in only after the first has released, and tells it that it waits', async () => {
    const order: string[] = [];
    const first = await lockFolder({ folder, onWait: () => order.push('first waits') });
    const second = lockFolder({ folder, onWait: () => order.push('second waits') }).then((lock) => {
      order.push('second holds');
      return lock;
    });
    await expect.poll(() => order).toEqual(['second waits']);
    order.push('first releases');
    await first.release();
    await (await second).release();
    expect(order).toEqual(['second waits', 'first releases', 'second holds']);
  });

  it('stops waiting when the signal aborts and does not hold the lock then', async () => {
    const first = await lockFolder({ folder });
    const abort = new AbortController();
    const second = lockFolder({
      folder,
      onWait: () => abort.abort(new Error('no time')),
      signal: abort.signal,
    });
    await expect(second).rejects.toThrow('no time');
    await first.release();
    await (await lockFolder({ folder, onWait: () => expect.unreachable() })).release();
  });

  it('is free again when its holder was killed', async () => {
    const holder = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `const { lockFolder } = await import(${JSON.stringify(join(import.meta.dirname, 'folder-lock.ts'))});
         await lockFolder({ folder: ${JSON.stringify(folder)} });
         console.log('held');
         setInterval(() => {}, 1000);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await once(holder.stdout, 'data');
    const waits: boolean[] = [];
    const next = lockFolder({ folder, onWait: () => waits.push(true) && void holder.kill('SIGKILL') });
    await (await next).release();
    expect(waits).toEqual([true]);
  });
});
