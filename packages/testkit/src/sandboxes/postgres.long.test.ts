import { readFileSync } from 'node:fs';
import { findPostgres, type PostgresServer, startPostgres } from '@skerry/platform/postgres-server';
import { describe, expect, it } from 'vitest';
import { createSmallDisk, type SmallDisk } from '../faults/small-disk.ts';
import { createLoad } from '../stack/create-load.ts';
import { startStack } from '../stack/stack.ts';

const MIB = 2 ** 20;

interface Fault {
  /** A part of the message of calls that it refuses. */
  message: string;
  /** Whether calls that only read work. */
  isReadable?: boolean;
  begin(): void | Promise<void>;
  end(): void | Promise<void>;
}

const toFaults = (postgres: PostgresServer, disk: SmallDisk): Fault[] => {
  const setReadOnly = (value: string): Promise<void> =>
    postgres.execute(`alter system set default_transaction_read_only = ${value}`, 'select pg_reload_conf()');
  const message = 'the database is read-only';
  return [
    { message: 'the connection to the database was lost', begin: postgres.stop, end: () => postgres.start() },
    { message, isReadable: true, begin: () => setReadOnly('on'), end: () => setReadOnly('off') },
    {
      ...{ message, isReadable: true },
      begin: async () => {
        await postgres.stop();
        await postgres.start({ asStandby: true });
      },
      end: () => postgres.execute('select pg_promote()'),
    },
    { message: 'the disk of the database is full', begin: () => disk.fill(0), end: disk.drain },
  ];
};

describe.skipIf(findPostgres() === undefined)('with --database', () => {
  it('a server keeps its state over a restart of itself and over faults of PostgreSQL under load', async () => {
    using disk = createSmallDisk(256 * MIB);
    const postgres = await startPostgres({ parentDir: disk.path });
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

      await using load = createLoad([api]);
      const { created, killed: ended, refusals, counts } = load;
      const goesOn = () => expect.poll(() => counts.acknowledged).toBeGreaterThan(counts.acknowledged + 2);
      for (const { message, isReadable = false, begin, end } of toFaults(postgres, disk)) {
        await goesOn();
        await begin();
        const before = refusals.length;
        const toMessages = () => refusals.slice(before).map((refusal) => refusal.message);
        await expect.poll(toMessages).toContainEqual(expect.stringContaining(message));
        if (isReadable) await expect.poll(list).toContain(kept.sandboxId);
        await end();
      }
      await goesOn();
      await load.end();
      expect(refusals).toEqual(refusals.map(({ message }) => ({ status: 503, retryAfter: '1', message })));
      const found = await list();
      expect(found).toEqual(expect.arrayContaining([kept.sandboxId, ...created]));
      expect(found.filter((id) => ended.has(id))).toEqual([]);
      await again.stop();
    } finally {
      await postgres.remove();
    }
  });
});
