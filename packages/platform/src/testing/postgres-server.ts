import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A PostgreSQL of its own in a new folder, which listens on a unix socket there, and on an address if that was asked for. */
export interface PostgresServer {
  /** Creates an empty database and resolves with its URL: that of its address, if it has one. */
  createDatabase(): Promise<string>;
  /** Runs each statement in a transaction of its own. */
  execute(...statements: readonly string[]): Promise<void>;
  /** Runs a statement and resolves with its rows, each a line of columns with a bar between two. */
  query(statement: string): Promise<string[]>;
  /** Of its first process, while it runs. */
  readonly pid: number;
  /** Ends it at once, as a crash does. */
  stop(): Promise<void>;
  /** As a standby, it serves what reads only, until `pg_promote()`. */
  start(options?: { asStandby?: boolean }): Promise<void>;
  /** Stops all its processes where they are, until the returned function is called. Connections stay open. */
  freeze(): () => void;
  /** Ends it and deletes the folder. */
  remove(): Promise<void>;
}

const libraries = '/usr/lib/postgresql';

/** The folder of the newest installed programs of PostgreSQL; undefined when there are none. */
export const findPostgres = (): string | undefined => {
  if (!existsSync(libraries)) return undefined;
  const versions = readdirSync(libraries).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(libraries, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
};

// The programs refuse root. Debian's package makes this user.
const isRoot = process.getuid?.() === 0;
const asPostgres = isRoot ? ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups'] : [];

const idOf = async (kind: '-u' | '-g'): Promise<number> =>
  Number((await run('id', [kind, 'postgres'])).stdout);

export interface PostgresOptions {
  parentDir?: string;
  isDurable?: boolean;
  /** More of its settings, as `name=value`. */
  settings?: readonly string[];
  /** Where it listens too, for all who reach that address, and a command that runs the command appended to it there. */
  machine?: { readonly address: string; readonly through: readonly string[] };
}

/**
 * Makes a cluster in a new folder of `parentDir`, by default that of temporary files, and starts it. Unless `isDurable`, it does not
 * sync: a process that ends keeps what it wrote, and only a host that stops would lose it. Rejects with what it wrote when it
 * does not start.
 */
export const startPostgres = async ({
  parentDir = tmpdir(),
  isDurable = false,
  settings: more = [],
  machine,
}: PostgresOptions = {}): Promise<PostgresServer> => {
  const bin = findPostgres();
  if (bin === undefined) throw new Error('PostgreSQL is not installed');
  const folder = mkdtempSync(join(parentDir, 'skerry-postgres-'));
  if (isRoot) chownSync(folder, await idOf('-u'), await idOf('-g'));
  const data = join(folder, 'data');
  const [file, ...args] = [
    ...asPostgres,
    join(bin, 'initdb'),
    '-D',
    data,
    '-A',
    'trust',
    '-U',
    'skerry',
    // The defaults are those of the environment, which may have no encoding.
    '--encoding=UTF8',
    '--no-locale',
    '--no-sync',
  ];
  await run(file, args, { cwd: folder });
  if (machine) appendFileSync(join(data, 'pg_hba.conf'), 'host all all samenet trust\n');

  let child: ReturnType<typeof spawn> | undefined;
  const stop = async (): Promise<void> => {
    // Without room for its write-ahead log it ends by itself.
    if (child?.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGQUIT');
      await exited;
    }
    child = undefined;
  };
  const start = async ({ asStandby = false } = {}): Promise<void> => {
    // The end of being a standby removes it.
    if (asStandby) writeFileSync(join(data, 'standby.signal'), '');
    const settings = [
      `unix_socket_directories=${folder}`,
      `listen_addresses=${machine?.address ?? ''}`,
      'log_min_messages=log',
      ...(isDurable ? [] : ['fsync=off', 'full_page_writes=off']),
      ...more,
    ];
    const [file = '', ...args] = [
      ...(machine?.through ?? []),
      ...asPostgres,
      join(bin, 'postgres'),
      '-D',
      data,
      ...settings.flatMap((one) => ['-c', one]),
    ];
    const started = spawn(file, args, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, LC_ALL: 'C' },
    });
    child = started;
    const written: string[] = [];
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: started.stderr }).on('line', (line) => {
        written.push(line);
        if (/ready to accept (read-only )?connections/.test(line)) resolve();
      });
      started.once('exit', () => reject(new Error(`postgres ended\n${written.join('\n')}`)));
    });
  };
  const psql = async (statements: readonly string[]): Promise<string> => {
    const commands = statements.flatMap((statement) => ['-c', statement]);
    const where = ['-h', folder, '-U', 'skerry', '-d', 'postgres'];
    const { stdout } = await run(join(bin, 'psql'), [...where, '-q', '-A', '-t', ...commands]);
    return stdout;
  };
  await start();
  let count = 0;
  return {
    createDatabase: async () => {
      count += 1;
      await run(join(bin, 'createdb'), ['-h', folder, '-U', 'skerry', `test${count}`]);
      if (machine) return `postgres://skerry@${machine.address}/test${count}`;
      return `postgres://skerry@localhost/test${count}?host=${encodeURIComponent(folder)}`;
    },
    execute: async (...statements) => {
      await psql(statements);
    },
    query: async (statement) => (await psql([statement])).trim().split('\n'),
    get pid() {
      return Number(child?.pid);
    },
    stop,
    start,
    freeze: () => {
      const pid = child?.pid;
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
      const pids = [Number(pid), ...children.trim().split(' ').map(Number)];
      for (const each of pids) process.kill(each, 'SIGSTOP');
      return () => {
        for (const each of pids) process.kill(each, 'SIGCONT');
      };
    },
    remove: async () => {
      await stop();
      rmSync(folder, { recursive: true });
    },
  };
};
