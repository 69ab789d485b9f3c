import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findServerProgram, type ServerProgram } from './server-program.ts';

const run = promisify(execFile);

/** A PostgreSQL of its own in a new folder, which listens on a unix socket there, and on an address if that was asked for. */
export interface PostgresServer {
  /** Creates an empty database and resolves with its URL: that of its address, if it has one. */
  createDatabase(): Promise<string>;
  /** Runs each statement in a transaction of its own. */
  execute(...statements: readonly string[]): Promise<void>;
  /** Runs a statement and resolves with its rows, each a line of columns with a bar between two. */
  query(statement: string): Promise<string[]>;
  /** The pid of the server's first process, while it runs. */
  readonly pid: number;
  /** Ends it at once, as a crash does. */
  stop(): Promise<void>;
  /** Starts it again. A standby serves only reads, until `pg_promote()`. */
  start(options?: { asStandby?: boolean }): Promise<void>;
  /** Stops all its processes where they are, until the returned function is called. Connections stay open. */
  freeze(): () => void;
  /** Ends it and deletes the folder. */
  remove(): Promise<void>;
}

/** The newest `initdb` of this host; undefined when there is none. */
export const findPostgres = (): ServerProgram | undefined => findServerProgram('postgresql');

// The programs refuse root, and a user without a name.
const isRoot = process.getuid?.() === 0;
const [uid, gid] = [65534, 65534];
const asNobody = ['setpriv', '--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--'];

/** A command that runs a program of that PostgreSQL, whose name and arguments are appended, with variables for it. */
interface Launcher {
  command: readonly string[];
  /** The folder of its programs there. */
  bin: string;
  env: NodeJS.ProcessEnv;
}

function toLauncher({ path, root, env }: ServerProgram): Launcher {
  const direct = { bin: dirname(path), env: { ...process.env, ...env, LC_ALL: 'C' } };
  if (!isRoot) return { command: [], ...direct };
  if (root === '/') return { command: asNobody, ...direct };
  // A checkout may be in a folder that only root enters: the programs alone see the unpacked package at /mnt.
  const mount = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /mnt && exec "$@"', root];
  const toSeen = (text: string): string => text.replaceAll(root, '/mnt');
  const variables = Object.entries(env).map(([name, value]) => `${name}=${toSeen(value)}`);
  return {
    command: [...mount, ...asNobody, 'env', ...variables],
    bin: toSeen(direct.bin),
    env: { ...process.env, LC_ALL: 'C' },
  };
}

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
  const found = findPostgres();
  if (found === undefined)
    throw new Error('PostgreSQL is not on this host: node scripts/system-packages.ts --tests');
  const { command, bin, env } = toLauncher(found);
  const folder = mkdtempSync(join(parentDir, 'skerry-postgres-'));
  if (isRoot) chownSync(folder, uid, gid);
  const data = join(folder, 'data');
  const [file, ...args] = [
    ...command,
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
  await run(file, args, { cwd: folder, env });
  if (machine) appendFileSync(join(data, 'pg_hba.conf'), 'host all all samenet trust\n');

  let child: ReturnType<typeof spawn> | undefined;
  const stop = async (): Promise<void> => {
    // The server may have ended by itself: it does so when its write-ahead log has no room.
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
      // The compiler of queries is not unpacked for tests.
      'jit=off',
      ...(isDurable ? [] : ['fsync=off', 'full_page_writes=off']),
      ...more,
    ];
    const [file = '', ...args] = [
      ...(machine?.through ?? []),
      ...command,
      join(bin, 'postgres'),
      '-D',
      data,
      ...settings.flatMap((one) => ['-c', one]),
    ];
    const started = spawn(file, args, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env,
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
  const runClient = (name: string, argv: readonly string[]) =>
    run(join(dirname(found.path), name), argv, { env: { ...process.env, ...found.env } });
  const psql = async (statements: readonly string[]): Promise<string> => {
    const commands = statements.flatMap((statement) => ['-c', statement]);
    const where = ['-h', folder, '-U', 'skerry', '-d', 'postgres'];
    const { stdout } = await runClient('psql', [...where, '-q', '-A', '-t', ...commands]);
    return stdout;
  };
  await start();
  let count = 0;
  return {
    createDatabase: async () => {
      count += 1;
      await runClient('createdb', ['-h', folder, '-U', 'skerry', `test${count}`]);
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
