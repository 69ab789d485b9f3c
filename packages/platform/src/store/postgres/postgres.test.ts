import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findPostgres, type PostgresServer, startPostgres } from '../../testing/postgres-server.ts';
import { createRecordingLog, type LogLine } from '../../testing/recording-log.ts';
import type { Store } from '../store.ts';
import { newSandbox } from '../suite/new-sandbox.ts';
import { describeStore } from '../suite/suite.ts';
import { toConfig } from './config.ts';
import { TRANSACTION_LOCK } from './dialect.ts';
import { createPostgresStore } from './postgres.ts';

describe.skipIf(findPostgres() === undefined)('PostgreSQL', () => {
  let server: PostgresServer;
  let url: string;
  let store: Store;
  beforeAll(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
    store = await createPostgresStore({ url, secret: 'secret' });
  });
  afterAll(async () => {
    await store.close();
    await server.remove();
  });

  // A database for each test, or new files as `truncate` makes them, would take most of the time.
  beforeEach(async () => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<{ deletes: string }>(
      `select string_agg(format('delete from %I', tablename), ';') as deletes from pg_tables
      where schemaname = 'public' and tablename not like 'kysely%'`,
    );
    // In this mode references are not checked, and the order does not matter.
    await client.query(`set session_replication_role = replica; ${rows[0]?.deletes}`);
    await client.end();
  });

  describeStore('postgres', async () => ({
    store,
    // One server at a time has a database, so that the former one has to end.
    reopen: async () => {
      await store.close();
      store = await createPostgresStore({ url, secret: 'secret' });
      return store;
    },
    remove: async () => undefined,
  }));

  it('lets no concurrent transactions pass a check together', async () => {
    const many = <T>(count: number, act: (index: number) => Promise<T>) =>
      Promise.all(Array.from({ length: count }, (_, index) => act(index)));
    const reserved = await many(40, (index) =>
      store.reserveSandbox(newSandbox(`i${index}`), { maxActive: 10 }),
    );
    expect(reserved.filter((answer) => answer === 'reserved')).toHaveLength(10);
    const id = `i${reserved.indexOf('reserved')}`;
    await store.changeState(id, { from: ['starting'], to: 'paused' });
    const resumed = await many(10, () => store.reserveResume(id, { endAt: 3, maxActive: 100 }));
    expect(resumed.filter((answer) => answer === 'reserved')).toHaveLength(1);
    const made = await many(8, (index) =>
      store.ensureTemplate({
        project: 'local',
        id: `t${index}`,
        name: 'base',
        createdAt: 1,
        cpuCount: 1,
        memoryMb: 128,
        diskMb: 100,
      }),
    );
    expect(new Set(made.map((template) => template.id)).size).toBe(1);
  });

  it('does not wait for a server that hangs in a transaction', async () => {
    const hanging = new Client(toConfig(url, { idleMs: 100 }));
    hanging.on('error', () => undefined);
    await hanging.connect();
    await hanging.query(`begin; select pg_advisory_xact_lock(${TRANSACTION_LOCK})`);
    expect(await store.reserveSandbox(newSandbox('i1'), { maxActive: 1 })).toBe('reserved');
    await expect(hanging.query('commit')).rejects.toThrow();
    await hanging.end();
  });

  it('stores NUL, and the character by which it is written, in texts', async () => {
    const text = 'a\u0000b\uE000c\uE0000';
    await store.reserveSandbox(newSandbox('i1', { metadata: { key: text } }), { maxActive: 1 });
    const entry = { sandboxId: 'i1', at: 1, level: 'info', logger: 'x', message: text, fields: {} } as const;
    await store.addLogEntries([{ ...entry, sizeBytes: 1 }], [{ sandboxId: 'i1', origin: 'a', seq: 1 }]);
    const query = { sandboxId: 'i1', order: 'asc', limit: 9 } as const;
    expect(await store.listLogEntries({ ...query, search: 'a\u0000b' })).toMatchObject([{ message: text }]);
    expect(await store.countSandboxes({ states: ['starting'], metadata: [['key', text]] })).toBe(1);
    expect(await store.findSandbox('i\u0000')).toBeUndefined();
  });

  it('refuses a second server, and names the database without user and password', async () => {
    const second = createPostgresStore({
      url: url.replace('skerry@', 'skerry:hidden@'),
      secret: 'secret',
      serverWaitMs: 0,
    });
    await expect(second).rejects.toMatchObject({
      message: expect.stringMatching(/^cannot open the database localhost\/test\d+$/),
      cause: { message: expect.stringMatching(/^another server uses the database localhost\/test\d+$/) },
    });
  });

  it('is shared by servers that all say so, whose migrations do not collide', async () => {
    const shared = { url: await server.createDatabase(), secret: 'secret', isShared: true, serverWaitMs: 0 };
    const both = await Promise.all([createPostgresStore(shared), createPostgresStore(shared)]);
    await expect(createPostgresStore({ ...shared, isShared: false })).rejects.toThrow();
    await both[0].addWarm({ id: 'i1', spec: '', createdAt: 1, node: null });
    expect(await both[1].listWarm()).toHaveLength(1);
    for (const one of both) await one.close();
  });

  /** A store of an empty database with unsafe settings and a short limit, beside a connection of the test. */
  const withOther = async (
    act: (other: Store, client: Client, lines: readonly LogLine[]) => Promise<void>,
  ): Promise<void> => {
    const { log, lines } = createRecordingLog();
    const unsafe = '-c synchronous_commit=off -c lock_timeout=0';
    const otherUrl = await server.createDatabase();
    const client = new Client({ connectionString: otherUrl });
    await client.connect();
    const name = new URL(otherUrl).pathname.slice(1);
    await client.query(`alter database ${name} set synchronous_commit = off`);
    const other = await createPostgresStore({
      url: `${otherUrl}&options=${encodeURIComponent(unsafe)}`,
      secret: 'secret',
      statementMs: 2_000,
      closeMs: 500,
      log,
    });
    try {
      await act(other, client, lines);
    } finally {
      await client.end();
      await other.close();
    }
  };
  const busy = { code: 'unavailable', headers: { 'Retry-After': '1' } };

  it('commits synchronously, whatever the database and the URL say', () =>
    withOther(async (other, client) => {
      await client.query(`create function refuse_unsafe() returns trigger language plpgsql as $$ begin
        if current_setting('synchronous_commit') <> 'on' then raise 'not synchronous'; end if;
        return new;
      end $$`);
      await client.query('create trigger t before insert on warm_instances execute function refuse_unsafe()');
      await other.addWarm({ id: 'i1', spec: '', createdAt: 1, node: null });
      expect(await other.listWarm()).toHaveLength(1);
    }));

  it('is "unavailable" with the time of a retry when a statement takes too long, and when it gets no response', () =>
    withOther(async (other, client) => {
      await client.query('begin; lock table warm_instances');
      await expect(other.listWarm()).rejects.toMatchObject({
        ...busy,
        message: 'the database took too long',
      });
      await client.query('rollback');
      expect(await other.listWarm()).toEqual([]);

      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and application_name = 'skerry'`,
      );
      for (const { pid } of rows) process.kill(pid, 'SIGSTOP');
      try {
        await expect(other.listWarm()).rejects.toMatchObject(busy);
        // On a new connection.
        expect(await other.listWarm()).toEqual([]);
      } finally {
        for (const { pid } of rows) process.kill(pid, 'SIGCONT');
      }
    }));

  it('closes within a bound, with a line of the log, when the database does not respond', () =>
    withOther(async (other, client, lines) => {
      await client.query('begin; lock table warm_instances');
      const refused = expect(
        other.addWarm({ id: 'i1', spec: '', createdAt: 1, node: null }),
      ).rejects.toMatchObject(busy);
      const waiting = `select from pg_locks where not granted and relation = 'warm_instances'::regclass`;
      await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(1);
      const thaw = server.freeze();
      try {
        const begunMs = performance.now();
        await other.close();
        // Closing waits 500 ms of these for statements in progress.
        expect(performance.now() - begunMs).toBeLessThan(20_000);
        await refused;
      } finally {
        thaw();
      }
      const message = expect.stringContaining('does not respond');
      expect(lines).toMatchObject([{ level: 'warn', message, fields: { database: expect.any(String) } }]);
    }));

  it('is "unavailable" with the time of a retry while the database is down, and loses nothing acknowledged', async () => {
    const acknowledged: string[] = [];
    const errors: unknown[] = [];
    let isOver = false;
    const write = async (writer: number): Promise<void> => {
      for (let index = 0; !isOver; index += 1) {
        const id = `i${writer}-${index}`;
        await store.addWarm({ id, spec: '', createdAt: 1, node: null }).then(
          () => acknowledged.push(id),
          async (error: unknown) => {
            errors.push(error);
            await sleep(10);
          },
        );
      }
    };
    const writers = [write(0), write(1), write(2)];
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20);
    await server.stop();
    const before = errors.length;
    await expect.poll(() => errors.length).toBeGreaterThan(before);
    await server.start();
    const reached = acknowledged.length;
    await expect.poll(() => acknowledged.length).toBeGreaterThan(reached);
    isOver = true;
    await Promise.all(writers);
    const kinds = new Set(errors.map((error) => JSON.stringify(error)));
    expect([...kinds].map((kind) => JSON.parse(kind))).toEqual(
      [...kinds].map(() => expect.objectContaining({ code: 'unavailable', headers: { 'Retry-After': '1' } })),
    );
    const ids = new Set((await store.listWarm()).map(({ id }) => id));
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  });
});
