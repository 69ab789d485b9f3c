import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPostgres, startPostgres } from '@skerry/platform/postgres-server';
import { describe, expect, it } from 'vitest';
import { startStack } from '../stack/stack.ts';

describe.skipIf(findPostgres() === undefined)('with --database', () => {
  it('a server keeps its state over a restart of itself and of PostgreSQL under load', async () => {
    const postgres = await startPostgres();
    try {
      const args = ['--database', await postgres.createDatabase()];
      await using first = await startStack({ args });
      const { dataDir } = first;
      const [kept, killed] = await Promise.all([first.createSandbox(), first.createSandbox()]);
      await killed.kill();
      await first.stop();
      const again = await startStack({ dataDir, args });
      expect(readFileSync(`/proc/${again.pid}/cmdline`, 'utf8')).toContain('--database');
      const { api } = again;
      const list = async (): Promise<string[]> => {
        const { data = [] } = await api.GET('/v2/sandboxes', {});
        return data.map(({ sandboxID }) => sandboxID);
      };
      expect(await list()).toEqual([kept.sandboxId]);

      const acknowledged: string[] = [];
      const refusals: { status: number; retryAfter: string | null }[] = [];
      let isOver = false;
      const load = async (): Promise<void> => {
        while (!isOver) {
          const metadata = { number: String(acknowledged.length) };
          const body = { templateID: 'base', timeout: 600, metadata };
          const { data, response } = await api.POST('/v2/sandboxes', { body });
          if (data) acknowledged.push(data.sandboxID);
          else {
            refusals.push({ status: response.status, retryAfter: response.headers.get('retry-after') });
            await sleep(100);
          }
        }
      };
      const loads = [load(), load()];
      await expect.poll(() => acknowledged.length).toBeGreaterThan(0);
      await postgres.stop();
      await expect.poll(() => refusals.length).toBeGreaterThan(0);
      await postgres.start();
      const reached = acknowledged.length;
      await expect.poll(() => acknowledged.length).toBeGreaterThan(reached);
      isOver = true;
      await Promise.all(loads);
      expect(refusals).toEqual(refusals.map(() => ({ status: 503, retryAfter: '1' })));
      expect(await list()).toEqual(expect.arrayContaining([kept.sandboxId, ...acknowledged]));
      await again.stop();
    } finally {
      await postgres.remove();
    }
  });
});
