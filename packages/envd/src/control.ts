import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { notFound } from '@skerry/contract/error';
import { parseInitialization } from './initialize.ts';
import { createHttpServer } from './listen.ts';
import type { Log } from './log.ts';
import { readJson } from './read-json.ts';
import { replyError } from './reply.ts';
import type { SettingsStore } from './settings.ts';
import { tunnel } from './tunnel.ts';

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * The private channel of the host: initialisation, and tunnels to ports inside. It listens on a socket that only the host
 * and the sandbox's own root can open, so reaching it is the proof that a change of the token asks for.
 */
export const createControlServer = (options: {
  settings: SettingsStore;
  log: Log;
  /** Called when an answer to an initialisation is on its way. */
  onInitialized: () => void;
}): Server => {
  const { settings, log, onInitialized } = options;
  let newestMs = 0;

  const initialize = async (req: IncomingMessage): Promise<void> => {
    const { timestampMs, settings: next } = parseInitialization(
      await readJson(req, { maxBytes: MAX_BODY_BYTES }),
      settings.current,
    );
    // A retry that was overtaken by a newer initialisation must not undo it.
    if (timestampMs !== undefined && timestampMs < newestMs) return;
    settings.replace(next);
    newestMs = timestampMs ?? newestMs;
    log('initialized', { upMs: Math.round(performance.now()) });
  };

  const dispatch = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (`${req.method} ${req.url}` !== 'POST /init') throw notFound(`no route ${req.method} ${req.url}`);
    await initialize(req);
    res.writeHead(204).end(onInitialized);
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
