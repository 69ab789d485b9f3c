import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withHostLock } from './host-lock.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'lock-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('withHostLock', () => {
  it('lets one work at a time, also when a holder removes the folder', async () => {
    const path = join(dir, 'state');
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        withHostLock(path, async () => {
          most = Math.max(most, ++inside);
          await setTimeout(5);
          if (n % 3 === 0) await rmdir(path);
          inside--;
        }),
      ),
    );
    expect(most).toBe(1);
  });

  it('is free again when its holder is killed', async () => {
    const module = fileURLToPath(new URL('./host-lock.ts', import.meta.url));
    const script = `import { withHostLock } from ${JSON.stringify(module)};
      await withHostLock(${JSON.stringify(dir)}, () => { console.log('held'); return new Promise(() => setTimeout(() => {}, 60_000)); });`;
    const holder = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    let acquired = false;
    const waiting = withHostLock(dir, async () => {
      acquired = true;
    });
    await setTimeout(200);
    expect(acquired).toBe(false);
    holder.kill('SIGKILL');
    await waiting;
    expect(acquired).toBe(true);
  });

  it('is released when the work fails', async () => {
    await expect(withHostLock(dir, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await withHostLock(dir, async () => 'free')).toBe('free');
  });
});
