import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import {
  controlPaths,
  parseEndQuery,
  parseLogQuery,
  parsePackQuery,
  parseStandInQuery,
  parseUnpackQuery,
  toPackHeaders,
} from '@skerry/contract/agent-control';
import { notFound } from '@skerry/contract/error';
import type { HostUsage } from '../host-usage.ts';
import { createHttpServer } from '../http/listen.ts';
import { readJson } from '../http/read-json.ts';
import { replyError } from '../http/reply.ts';
import { loadOnce } from '../load-once.ts';
import type { Log } from '../log.ts';
import type { SandboxLog } from '../sandbox-log.ts';
import type { SettingsStore } from '../settings.ts';
import type { Users } from '../system/users.ts';
import { parseInitialization } from './initialize.ts';
import { streamLog } from './log-stream.ts';
import { tunnel } from './tunnel.ts';

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_USAGE_BYTES = 4 * 1024;

/**
 * The private channel of the host: initialisation, the log of the sandbox, what it uses, a self-test, the packing and
 * unpacking of archives, the mounts and the end of a build's commands, and tunnels to ports inside. It listens on a socket that only the host and the sandbox's own root can open, so a connection to it is the
 * authorization to set the hash of the token and the nonce of the edge.
 */
export const createControlServer = (options: {
  settings: SettingsStore;
  users: Users;
  usage: HostUsage;
  log: Log;
  sandboxLog: SandboxLog;
  /** Called when the answer to an initialization has been sent: what it begins may block, and the host must not wait for that. */
  onInitialized: () => void;
  /** Rejects with the reason when commands cannot be started. */
  runSelfTest: () => Promise<void>;
  /** Resolves when a process that this agent has started has ended, and all others of the sandbox with it. */
  endAllWith: (pid: number) => Promise<void>;
}): Server => {
  const { settings, users, usage, log, sandboxLog, onInitialized, runSelfTest, endAllWith } = options;
  /** What is in the place of other files, which only builds have. */
  const loadStandIns = loadOnce(async () => (await import('./stand-in.ts')).createStandIns());
  let newestMs = 0;

  const initialize = async (req: IncomingMessage): Promise<void> => {
    const {
      isCopy,
      isNewRun,
      timestampMs,
      settings: next,
    } = parseInitialization(await readJson(req, { maxBytes: MAX_BODY_BYTES }), settings.current);
    // A late retry must not undo a newer initialization. Each run begins with its own first one: the clock of
    // the host may have been put back since that of the last run.
    if (!isNewRun && timestampMs !== undefined && timestampMs < newestMs) return;
    // A copy of a sandbox carries the log of the one it was made from.
    if (isCopy) sandboxLog.restart();
    settings.replace(next);
    newestMs = timestampMs ?? newestMs;
    log('initialized', { upMs: Math.round(process.uptime() * 1000) });
    sandboxLog.write({ level: 'info', logger: 'agent', message: 'initialized' });
  };

  const unpack = async (req: IncomingMessage, query: string | undefined): Promise<void> => {
    // Only the sandboxes of builds need it.
    const { unpackArchive } = await import('./unpack/unpack.ts');
    try {
      await unpackArchive(req.iterator({ destroyOnReturn: false }), parseUnpackQuery(query), { users });
    } finally {
      // An unread rest of the body would stay in the connection and be parsed as the next request.
      req.resume();
    }
  };

  const pack = async (res: ServerResponse, query: string | undefined): Promise<void> => {
    const [{ findSources }, { packFiles, sendPacked }] = await Promise.all([
      import('./pack/find-sources.ts'),
      import('./pack/pack.ts'),
    ]);
    const found = findSources(parsePackQuery(query));
    const archive = packFiles(found);
    res.writeHead(200, toPackHeaders({ source: found.root, isSeveral: found.isSeveral }));
    await sendPacked(archive, res);
  };

  const dispatch = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const [path, query] = (req.url ?? '').split('?', 2);
    switch (`${req.method} ${path}`) {
      case `POST ${controlPaths.init}`:
        await initialize(req);
        res.writeHead(204).end(onInitialized);
        return;
      case `POST ${controlPaths.usage}`:
        usage.tell(await readJson(req, { maxBytes: MAX_USAGE_BYTES }));
        res.writeHead(204).end();
        return;
      case `GET ${controlPaths.logs}`:
        streamLog(res, { log: sandboxLog, usage, ...parseLogQuery(query) });
        return;
      case `POST ${controlPaths.selfTest}`:
        await runSelfTest();
        res.writeHead(200).end();
        return;
      case `POST ${controlPaths.unpack}`:
        await unpack(req, query);
        res.writeHead(204).end();
        return;
      case `GET ${controlPaths.pack}`:
        return pack(res, query);
      case `POST ${controlPaths.endAll}`:
        await endAllWith(parseEndQuery(query));
        res.writeHead(204).end();
        return;
      case `POST ${controlPaths.standIn}`:
        await (await loadStandIns()).enter(parseStandInQuery(query));
        res.writeHead(204).end();
        return;
      case `POST ${controlPaths.putBack}`:
        await (await loadStandIns()).leave(parseStandInQuery(query).target);
        res.writeHead(204).end();
        return;
      default:
        throw notFound(`no route ${req.method} ${req.url}`);
    }
  };

  const server = createHttpServer((req, res) => {
    dispatch(req, res).catch((error: unknown) => {
      log('control request failed', { url: req.url, error });
      replyError(res, error);
    });
  });
  server.on('connect', (req, socket, head) => {
    tunnel(req, socket, head).catch((error: unknown) => {
      log('tunnel failed', { error });
      socket.destroy();
    });
  });
  return server;
};
