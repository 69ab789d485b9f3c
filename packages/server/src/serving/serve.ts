import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { join } from 'node:path';
import {
  createEdge,
  edgeServerOptions,
  guardConnections,
  readDescriptorLimit,
  toConnectionBounds,
  watchDescriptors,
} from '@skerry/edge';
import {
  createPlatform,
  createSystemClock,
  DEFAULT_PROJECT,
  ensureApiKey,
  ensureSecret,
  type Log,
  type PlatformOptions,
  type Store,
} from '@skerry/platform';
import { identifyProcess, type ProcessIdentity } from '@skerry/runtime';
import { removeServerAddress, type ServerAddress, writeServerAddress } from '../data-folder/data-folder.ts';
import { openStore } from '../database/database.ts';
import { openAccess } from '../log/access/open-access.ts';
import { createNameCheck, hasOwnName } from '../own-name.ts';
import type { Metrics, MetricsListen } from '../prometheus/open-metrics.ts';
import { UserError } from '../user-error.ts';
import { createInFlight, passDraining } from './draining.ts';
import { createProbes } from './probes.ts';
import { requireProtection } from './require-protection.ts';
import type { TlsOptions } from './tls/tls-options.ts';

/** What every server is given, wherever its sandboxes are. */
export interface ServingOptions extends TlsOptions {
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** The URL of the PostgreSQL database for the state, which may have a password; absent: a file in the data folder. */
  databaseUrl?: string;
  /** Public domain of the sandboxes with its port; derived from host and port when absent. */
  domain?: string;
  /** The concurrency limit; paused sandboxes do not count. */
  maxSandboxes: number;
  /** Memory of a sandbox of the base template; only the first start in a data folder decides. */
  baseMemoryMb?: number;
  /** Whether calls to sandboxes must declare their version of the Connect protocol. */
  requireProtocolVersion: boolean;
  /** Whether `POST /sandboxes` without `secure` creates a sandbox that requires its token. */
  secureByDefault: boolean;
  /** Further host names, without port, on which the routing headers apply. */
  sharedHosts: readonly string[];
  log: Log;
  /** Whether each request is a line of the log, at level `debug`. */
  logsAccess: boolean;
  /** The file of the access log, or `-` for stdout; absent: there is none. */
  accessLog?: string | undefined;
  /** Where traces are sent, if not where the variables of OpenTelemetry say; absent: nowhere. */
  traces?: { endpoint: string | undefined } | undefined;
  /** Where metrics are served; absent: nowhere. */
  metricsListen?: MetricsListen | undefined;
  /** How long requests, streams and builds in progress may go on after the order to end. 0: not at all. */
  drainMs: number;
}

/** What makes the sandboxes of a server, and what they begin with. */
export type PlatformParts = Pick<
  PlatformOptions,
  'hosts' | 'images' | 'buildFiles' | 'imports' | 'peers' | 'limits'
>;

export interface Serving {
  address: ServerAddress;
  /**
   * Begins no more work for callers, and resolves when no request, stream or build is in progress, when `drainMs` are over, or when the
   * signal aborts. Everything else is served until `close`.
   */
  drain(signal: AbortSignal): Promise<void>;
  /** Stops serving. Sandboxes live on, and the next server of the folder finds them. */
  close(): Promise<void>;
}

/**
 * Serves platform and edge on one port. Resolves when requests are served; early callers wait for that. Rejects, with nothing left
 * open, when the port or the store cannot be used, or `compose` rejects. With an owner, other servers may use the database too.
 */
export async function serve(
  options: ServingOptions & {
    dataDir: string;
    owner?: string | undefined;
    /** Where it adds what it measures. */
    metrics?: Metrics | undefined;
  },
  compose: (from: { store: Store; secret: string; server: Server }) => Promise<PlatformParts>,
): Promise<Serving> {
  const { dataDir, host, owner, log, requireProtocolVersion, secureByDefault, sharedHosts } = options;
  requireProtection(options);
  await using cleanup = new AsyncDisposableStack();
  const server = createServer(edgeServerOptions);
  const publicHost = isAnyOrLoopback(host) ? 'localhost' : host;
  const publicName = (options.domain ?? publicHost).replace(/:\d+$/, '');
  const acme =
    options.acme &&
    (await (
      await import('../acme/open-acme.ts')
    ).openAcme(options.acme, { dir: join(dataDir, 'acme'), domain: publicName, log }));
  if (acme !== undefined) cleanup.use(acme);
  const tls = acme ? { cert: acme.file, key: acme.file } : options.tls;
  const front =
    tls &&
    (await (
      await import('./tls/open-front.ts')
    ).openSecureFront(server, {
      files: tls,
      domain: publicName,
      log,
    }));
  const listener = front?.listener ?? server;
  const descriptorLimit = readDescriptorLimit();
  const bounds = toConnectionBounds(descriptorLimit);
  const guard = guardConnections(server, { bounds, front: front?.listener, log });
  cleanup.defer(watchDescriptors({ limit: descriptorLimit, log }));
  // Early callers wait until every sandbox is found again: without a listener they would never get a response.
  const { promise: ready, resolve: openDoor } = Promise.withResolvers<void>();
  const hsts = front && options.hstsSeconds !== undefined ? `max-age=${options.hstsSeconds}` : undefined;
  const inFlight = createInFlight();
  const access = openAccess(options, { domain: publicName, sharedHosts });
  cleanup.defer(async () => access?.close());
  const tracing =
    options.traces &&
    (await import('../tracing/open-tracing.ts')).openTracing(
      { endpoint: options.traces.endpoint, log },
      { domain: publicName, sharedHosts },
    );
  cleanup.defer(async () => tracing?.close());
  let isDraining = false;
  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // A client that keeps its connection would lose it later, in the middle of a request.
    if (isDraining) response.shouldKeepAlive = false;
    guard.begin(request, response);
    if (hsts !== undefined) response.setHeader('Strict-Transport-Security', hsts);
    if (probes.answer(request, response)) return;
    inFlight.begin(response);
    // Before the first turn of the event loop, in which the body may come.
    access?.log.begin(request, response);
    tracing?.beginRequest(request, response);
    await ready;
    const isForSandbox = edge.isSandboxRequest(request);
    if (isForSandbox) edge.handle(request, response);
    else if (!hasOwnName(request, isKnownName)) refuseForeignName(response);
    else platform.routing(request, response);
  };
  server.on('request', (request, response) => void route(request, response));
  // An expectation other than 100-continue may be ignored (RFC 9110, 10.1.1). Node answers 417 without the CORS headers of the edge.
  server.on('checkExpectation', (request, response) => void route(request, response));
  cleanup.defer(() => closeServer(listener, { server, front }));
  await listen(listener, { host, port: options.port });
  const { port } = listener.address() as AddressInfo;
  const domain = options.domain ?? `${publicHost}:${port}`;
  const probes = createProbes({ domain, sharedHosts });
  const isKnownName = createNameCheck({ domains: [domain, publicHost], sharedHosts });
  if (options.httpRedirectPort !== undefined) {
    const { openHttpRedirect } = await import('./tls/http-redirect.ts');
    const at = { host, port: options.httpRedirectPort };
    const redirect = await openHttpRedirect({ ...at, domain, sharedHosts, log });
    cleanup.defer(() => redirect.close());
    log.info('plain HTTP is sent to the port with TLS', { port: redirect.port });
  }

  const measured =
    options.metrics && (await import('../prometheus/service-metrics.ts')).addServiceMetrics(options.metrics);
  const secret = await ensureSecret({ dataDir });
  const opened = await openStore(dataDir, options.databaseUrl, {
    secret,
    log,
    isShared: owner !== undefined,
    onError: measured?.onDatabaseError,
  });
  cleanup.defer(() => opened.close());
  const store = owner === undefined ? opened : opened.ownedBy(owner);
  const madeWithMb = (await store.findNamedTemplate({ project: DEFAULT_PROJECT, name: 'base' }))?.memoryMb;
  if (options.baseMemoryMb && madeWithMb && madeWithMb !== options.baseMemoryMb)
    throw new UserError(
      `sandboxes of this data folder have ${madeWithMb} MiB, which --base-memory cannot change`,
    );
  const apiKey = await ensureApiKey({ dataDir, store, clock: createSystemClock() });
  const parts = await compose({ store, secret, server });
  const platform = createPlatform({
    ...parts,
    store,
    secret,
    domain,
    isSecure: front !== undefined,
    log,
    onAuthorised: (request, key) => {
      guard.accept(request, 'authorised');
      access?.log.noteKey(request, key);
      tracing?.trustCaller(request);
    },
    onLinked: (request) => guard.accept(request, 'routed'),
    secureByDefault,
    telemetry: measured?.telemetry,
    limits: {
      maxSandboxes: options.maxSandboxes,
      ...(options.baseMemoryMb && { memoryMb: options.baseMemoryMb }),
      ...parts.limits,
    },
  });
  cleanup.defer(() => platform.close());
  const edge = createEdge({
    directory: platform.directory,
    domain,
    sharedHosts,
    log,
    onRouted: (request) => guard.accept(request, 'routed'),
    requireProtocolVersion,
  });
  cleanup.defer(() => edge.close());
  measured?.watch({ census: platform.census, openStreams: edge.openStreams });

  server.on('checkContinue', (request, response) => {
    // The server inside a sandbox decides about requests to it.
    if (!edge.isSandboxRequest(request)) response.writeContinue();
    void route(request, response);
  });
  await platform.start();
  openDoor();
  probes.set(platform.findMissing);
  server.on('upgrade', (request, socket, head) => {
    access?.log.begin(request, socket);
    tracing?.beginRequest(request, socket);
    guard.beginUpgrade(request);
    inFlight.begin(socket);
    edge.upgrade(request, socket, head);
  });

  const ownIdentity = identifyProcess(process.pid) as ProcessIdentity;
  const address: ServerAddress = {
    ...(front ? toSecureUrls(domain) : toPlainUrls(`${publicHost}:${port}`)),
    domain,
    apiKey,
  };
  writeServerAddress(dataDir, { ...address, ...ownIdentity });
  cleanup.defer(() => removeServerAddress(dataDir));

  const drain = async (signal: AbortSignal): Promise<void> => {
    isDraining = true;
    probes.set('draining');
    front?.drain();
    platform.refuseNewWork();
    await passDraining({ inFlight, settleBuilds: platform.buildsSettled, ms: options.drainMs, log, signal });
  };

  const running = cleanup.move();
  return { address, drain, close: () => running.disposeAsync() };
}

const toPlainUrls = (origin: string) => ({ apiUrl: `http://${origin}`, sandboxUrl: `http://${origin}` });

/** At names that the certificate has. Those below localhost cannot be resolved everywhere. */
const toSecureUrls = (domain: string) =>
  /^localhost(?::|$)/.test(domain)
    ? { apiUrl: `https://${domain}`, sandboxUrl: `https://${domain}` }
    : { apiUrl: `https://api.${domain}`, sandboxUrl: `https://sandbox.${domain}` };

/** Answers as the edge does to a request for a sandbox by such a name. */
const refuseForeignName = (response: ServerResponse): void => {
  const message =
    'the host name is not one of this server: use localhost or an address, or name it by --domain or --shared-host';
  response.writeHead(400, { 'content-type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
};

function isAnyOrLoopback(host: string): boolean {
  return ['0.0.0.0', '::', '127.0.0.1', '::1', 'localhost'].includes(host);
}

async function listen(server: TcpServer, at: { host: string; port: number }): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Ends all connections. Those of HTTP/2 are known to the front alone. */
async function closeServer(
  listener: TcpServer,
  { server, front }: { server: Server; front: { close(): void } | undefined },
): Promise<void> {
  await new Promise<void>((resolve) => {
    listener.close(() => resolve());
    front?.close();
    server.closeAllConnections();
  });
}
