import { spawn } from 'node:child_process';
import { existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { run } from './run.ts';

const isRoot = process.getuid?.() === 0;

/** A server of this guest. */
export interface Server {
  dataDir: string;
  logPath: string;
  args: readonly string[];
}

/** The server that rows use unless they say otherwise: in the usual folder of the present user. */
export const usualServer: Server = {
  dataDir: isRoot ? '/var/lib/skerry' : join(homedir(), '.local/share/skerry'),
  logPath: isRoot ? '/var/log/skerry-up.log' : join(homedir(), 'skerry-up.log'),
  args: [],
};

export interface Connection {
  apiUrl: string;
  apiKey: string;
  domain: string;
  sandboxUrl: string;
  requestTimeoutMs: number;
}

/** How programs reach the server, without a limit of time: the row has one. Undefined when none answers. */
export async function findServer({ dataDir }: Server = usualServer): Promise<Connection | undefined> {
  const path = join(dataDir, 'run/server.json');
  if (!existsSync(path)) return undefined;
  const address = JSON.parse(readFileSync(path, 'utf8')) as Connection;
  const connection = { ...address, requestTimeoutMs: 0 };
  try {
    await Sandbox.list(connection).nextItems();
    return connection;
  } catch {
    return undefined; // Left by a server that was killed, or one that is not ready.
  }
}

/** Starts `skerry up` in the background, as from a shell that is then left. Rejects with its log when it ends instead. */
export async function startServer(server: Server = usualServer): Promise<Connection> {
  const log = openSync(server.logPath, 'a');
  const child = spawn('skerry', ['up', '--data', server.dataDir, ...server.args], {
    detached: true,
    stdio: ['ignore', log, log],
  });
  child.unref();
  return untilServes(server, () => child.exitCode ?? child.signalCode ?? undefined);
}

/** Waits for a server; `readEnd` tells how it ended, if it did. */
export async function untilServes(
  server: Server,
  readEnd: () => string | number | undefined = () => undefined,
): Promise<Connection> {
  for (;;) {
    const connection = await findServer(server);
    if (connection) return connection;
    const end = readEnd();
    if (end !== undefined) throw new Error(`skerry up ended with ${end}\n${readLog(server)}`);
    await delay(500);
  }
}

/** The connection to the usual server, which is started when there is none. */
export const ensureServer = async (): Promise<Connection> => (await findServer()) ?? (await startServer());

/** `skerry down`, with what it printed. */
export const takeDown = (server: Server = usualServer): Promise<string> =>
  run('skerry', 'down', '--data', server.dataDir);

export const readPid = ({ dataDir }: Server = usualServer): number =>
  (JSON.parse(readFileSync(join(dataDir, 'run/server.json'), 'utf8')) as { pid: number }).pid;

/** The pid of the one process below the server that runs the helper. */
export function findHelper(server: Server = usualServer): number {
  const wanted = String(readPid(server));
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      if (parent === wanted && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/helper.js'))
        return Number(pid);
    } catch {
      // The process has ended since it was listed.
    }
  }
  throw new Error(`the server ${wanted} has no helper`);
}

function readLog({ logPath }: Server): string {
  return existsSync(logPath) ? readFileSync(logPath, 'utf8').slice(-4_000) : '';
}
