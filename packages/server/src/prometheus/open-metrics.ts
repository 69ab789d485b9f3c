import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createQuietLog } from '@skerry/contract/quiet-log';
import { boundStrangers } from '@skerry/contract/strangers';
import type { Log } from '@skerry/platform';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { hasOwnName } from '../own-name.ts';
import { UserError } from '../user-error.ts';

/** Where metrics are served. */
export interface MetricsListen {
  host: string;
  /** 0 picks a free port. */
  port: number;
}

/** The metrics of this process, which it serves. */
export interface Metrics {
  readonly registry: Registry;
  /** `http://host:port/metrics` */
  readonly url: string;
  /** Calls `refresh` before each answer, which waits for it, 5 s at most. What it rejects with is logged. */
  onScrape(refresh: () => Promise<void>): void;
  close(): Promise<void>;
}

const REFRESH_MS = 5_000;
const PATH = '/metrics';

/** No caller shows who it is here: each connection is for one scrape. */
const CONNECTIONS = { all: 64, ofAddress: 32, timeoutMs: 30_000 };

/**
 * Serves `GET /metrics` in the text format of Prometheus, with the metrics of the process itself. Resolves when it listens; throws
 * `UserError` when it cannot. No key is asked for: metrics have no secrets and no ids, and the address is for those who may read them.
 */
export async function openMetrics(listen: MetricsListen, log: Pick<Log, 'info' | 'warn'>): Promise<Metrics> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const refreshes: (() => Promise<void>)[] = [];

  const refreshOne = async (refresh: () => Promise<void>): Promise<void> => {
    const late = new AbortController();
    const timeout = sleep(REFRESH_MS, undefined, { signal: late.signal }).then(() => {
      throw new Error(`they were not there after ${REFRESH_MS} ms`);
    });
    try {
      await Promise.race([refresh(), timeout]);
    } catch (error) {
      log.warn('some metrics could not be read', { error });
    } finally {
      late.abort();
      // The abort rejects it, and nothing waits for it any more.
      timeout.catch(() => undefined);
    }
  };
  let underWay: Promise<string> | undefined;
  const render = async (): Promise<string> => {
    await Promise.all(refreshes.map(refreshOne));
    return registry.metrics();
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url } = request;
    if (!hasOwnName(request)) return refuse(response, 421, 'use an IP address or localhost in the URL');
    if (url?.split('?')[0] !== PATH) return refuse(response, 404, `metrics are at ${PATH}`);
    if (method !== 'GET' && method !== 'HEAD') return refuse(response, 405, 'GET is needed');
    // Those who ask at the same time get the same answer.
    underWay ??= render().finally(() => {
      underWay = undefined;
    });
    const text = await underWay;
    response
      .writeHead(200, { 'content-type': registry.contentType })
      .end(method === 'GET' ? text : undefined);
  };

  const server = createServer((request, response) => {
    // The next scrape comes after a time in which another caller may need the place.
    response.shouldKeepAlive = false;
    answer(request, response).catch((error: unknown) => {
      log.warn('metrics could not be answered', { error });
      response.destroy();
    });
  });
  const strangers = boundStrangers('the port for metrics', {
    bounds: CONNECTIONS,
    log: createQuietLog({ warn: (message, fields) => log.warn(message, fields) }),
  });
  server.on('connection', (socket) => strangers.add(socket));
  const listening = once(server, 'listening');
  server.listen(listen);
  await listening.catch((cause: Error): never => {
    throw new UserError(
      `metrics cannot be served at ${formatHost(listen.host)}:${listen.port}: ${cause.message}`,
      {
        cause,
      },
    );
  });
  const { address, port } = server.address() as AddressInfo;
  const url = `http://${formatHost(address)}:${port}${PATH}`;
  log.info('metrics are served', { url });
  return {
    registry,
    url,
    onScrape: (refresh) => void refreshes.push(refresh),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const formatHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

const refuse = (response: ServerResponse, status: number, message: string): void =>
  void response.writeHead(status, { 'content-type': 'text/plain' }).end(`${message}\n`);
