import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Directory } from '@skerry/contract/directory';
import { shuttingDown, toErrorBody, toErrorHeaders } from '@skerry/contract/error';
import { REQUEST_ID, requestIdOf } from '@skerry/contract/request-id';
import { createAuthenticate, toScope } from './api-key.ts';
import { type Clock, createSystemClock } from './clock.ts';
import { createControlPlane } from './control-plane/control-plane.ts';
import { drainRequest } from './drain-request.ts';
import { requireAccess } from './handlers/access/operation-access.ts';
import { createRequestRates } from './handlers/access/request-rates.ts';
import { requireOwn } from './handlers/access/require-own.ts';
import { answerOnce } from './handlers/answer-once.ts';
import { createForkHandlers } from './handlers/fork.ts';
import { createInspectionHandlers } from './handlers/inspection.ts';
import { createListHandlers } from './handlers/list.ts';
import { createLogHandlers } from './handlers/logs.ts';
import { createMetricHandlers } from './handlers/metrics.ts';
import { createNetworkHandlers } from './handlers/network.ts';
import { createExplainHandler } from './handlers/nodes/explain-sandbox.ts';
import { createLocateCall } from './handlers/nodes/locate-call.ts';
import { createNodeHandlers } from './handlers/nodes/node-handlers.ts';
import { createPauseHandlers } from './handlers/pause.ts';
import type {
  Caller,
  HandlerContext,
  PlatformHandlers,
  PlatformPaths,
} from './handlers/platform-handlers.ts';
import { createSandboxHandlers } from './handlers/sandboxes.ts';
import { createSnapshotHandlers } from './handlers/snapshots.ts';
import { createApiKeyHandlers } from './handlers/system/api-keys.ts';
import { createStorageHandlers } from './handlers/system/storage.ts';
import { createTeamHandlers } from './handlers/teams.ts';
import { createBuildCacheHandlers } from './handlers/templates/build-cache.ts';
import { removedBuilds } from './handlers/templates/removed-builds.ts';
import { serveImages } from './handlers/templates/serve-images.ts';
import { createTemplateDetailHandlers } from './handlers/templates/template-details.ts';
import { createTemplateListHandlers } from './handlers/templates/template-list.ts';
import { createTagHandlers } from './handlers/templates/template-tags.ts';
import { createTemplateHandlers } from './handlers/templates.ts';
import { guardNewWork } from './handlers/wrappers/guard-new-work.ts';
import { reportLostRuntime } from './handlers/wrappers/report-lost-runtime.ts';
import type { Hosts } from './hosts/hosts.ts';
import { createConnectAt } from './http/connect-at.ts';
import { forwardCalls, type Peers } from './http/forward-calls.ts';
import { toPublicOrigin } from './http/public-origin.ts';
import { type CallHead, createServer } from './http/serve.ts';
import { serveDocument } from './http/serve-document.ts';
import { serveFrontPage } from './http/serve-front-page.ts';
import { createRandomIds, type Ids } from './ids.ts';
import type { InstallationImage, TemplateImages } from './images/template-images.ts';
import { defaultLimits, type Limits } from './limits.ts';
import type { Log } from './log.ts';
import { createNewWork } from './new-work.ts';
import { createFindMissing, type Part } from './readiness.ts';
import { createStorage } from './storage/storage.ts';
import { DEFAULT_PROJECT, EVERYTHING } from './store/scope.ts';
import type { Store } from './store/store.ts';
import type { Census } from './telemetry/census.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { type ArchiveStoreOptions, createArchiveStore } from './templates/uploads/archive-store.ts';
import { serveUploads } from './templates/uploads/serve-uploads.ts';
import { createUploadLinks } from './templates/uploads/upload-links.ts';

export interface PlatformOptions {
  /** What runs sandboxes: this machine, or others. */
  hosts: Hosts;
  /** Set where several servers share the nodes. */
  peers?: Peers | undefined;
  store: Store;
  /** The image of the base template, and the images of others; those cannot be built without the latter. */
  images: { base: InstallationImage; templates?: TemplateImages | undefined };
  /** Where builds keep the images that clients upload; without it they take none. */
  imports?: Pick<ArchiveStoreOptions, 'folder' | 'readSpareBytes'> | undefined;
  /** Where builds keep the files that clients upload; without it they take none. */
  buildFiles?: Pick<ArchiveStoreOptions, 'folder' | 'readSpareBytes' | 'maxTotalBytes'> | undefined;
  /** Where builds keep what `RUN --mount=type=cache` has; without it these caches are empty in each command. */
  mountCaches?: Pick<ArchiveStoreOptions, 'folder' | 'readSpareBytes'> | undefined;
  /** The secret that `ensureSecret` returned. */
  secret: string;
  /** Public domain of sandboxes with its port, as in `localhost:3000`; null: clients use the domain they call. */
  domain: string | null;
  /** Whether callers of the API use TLS, which no proxy ends; the default is what a proxy or the name says. */
  isSecure?: boolean | undefined;
  log: Log;
  /** A request has carried the known key with that id, which may be limited to a project. */
  onAuthorised?: (request: IncomingMessage, key: { keyId: string; project: string | null }) => void;
  /** A request has carried a valid link for an upload, and no key. */
  onLinked?: (request: IncomingMessage) => void;
  limits?: Partial<Limits>;
  /** Hears of the work; the default is nothing. */
  telemetry?: Telemetry | undefined;
  /** Whether `POST /sandboxes` without `secure` makes a sandbox that requires its token; the default is true. */
  secureByDefault?: boolean;
  clock?: Clock;
  ids?: Ids;
  /** Whether every response is validated against the document, for tests. */
  validateResponses?: boolean;
}

/** The control plane. It opens no port: the owner of the port passes the requests to it. */
export interface Platform {
  /** Answers one request of the platform API. */
  routing(request: IncomingMessage, response: ServerResponse): void;
  /** How to reach the running sandboxes. */
  readonly directory: Directory;
  /** Counts what there is now, for operators. Rejects when the database cannot be read. */
  census(): Promise<Census>;
  /**
   * Must resolve before the first request: ends the sandboxes that expired meanwhile, adopts those that run, and
   * removes unknown ones. From then on this is repeated every minute.
   */
  start(): Promise<void>;
  /** What this server lacks now to serve. Asks at most once a second, and for two seconds at most. */
  findMissing(): Promise<readonly Part[]>;
  /** Refuses new work of callers from now on, with 503, before it begins. Everything else is still served. */
  refuseNewWork(): void;
  /** Resolves when no build is in progress. */
  buildsSettled(): Promise<void>;
  /** Waits for starts and ends in progress. Sandboxes live on; the runtimes of hosts and the store stay open. */
  close(): Promise<void>;
}

/** How long a cache of commands stays that no build uses: as long as other results of builds. */
const KEPT_CACHE_MS = 30 * 24 * 60 * 60_000;
/** The largest image that can be uploaded. */
const MAX_IMPORT_BYTES = 16 * 2 ** 30;

export const createPlatform = (options: PlatformOptions): Platform => {
  const { store, hosts, log, secret, domain } = options;
  const clock = options.clock ?? createSystemClock();
  const limits = { ...defaultLimits, ...options.limits };
  const ids = options.ids ?? createRandomIds();
  // No sandbox could hold the files of a larger one.
  const maxBytes = limits.diskMb * 2 ** 20;
  const buildFiles = options.buildFiles && createArchiveStore({ ...options.buildFiles, maxBytes, clock });
  // Each is removed when its build has ended.
  const ofImports = { maxBytes: MAX_IMPORT_BYTES, maxTotalBytes: 2 * MAX_IMPORT_BYTES, keptMs: 0 };
  const imports = options.imports && createArchiveStore({ ...options.imports, ...ofImports, clock });
  const ofCaches = {
    maxBytes,
    maxTotalBytes: limits.buildCacheMb * 2 ** 20,
    keptMs: KEPT_CACHE_MS,
    neededMs: 0,
  };
  const mountCaches =
    options.mountCaches && limits.buildCacheMb > 0
      ? createArchiveStore({ ...options.mountCaches, ...ofCaches, clock })
      : undefined;
  const uploadLinks = createUploadLinks({ secret, clock });
  const connectAt = options.peers && createConnectAt(options.peers);
  const newWork = createNewWork();
  const plane = createControlPlane({
    ...options,
    newWork,
    connectAt,
    buildFiles,
    imports,
    mountCaches,
    clock,
    limits,
    ids,
  });

  const context: HandlerContext = {
    ...plane,
    store,
    newWork,
    buildFiles,
    uploadLinks,
    clock,
    features: hosts.features,
    maxRunMs: limits.maxRunMs,
    secureByDefault: options.secureByDefault ?? true,
    maxSandboxes: limits.maxSandboxes,
    diskMb: limits.diskMb,
    secret,
    domain,
  };
  const { images, peers } = options;
  const { nodes } = hosts;
  const storage = createStorage({
    ...plane,
    store,
    buildFiles,
    mountCaches,
    machines: nodes.disks,
    clock,
    log,
  });
  const handlers: PlatformHandlers = {
    ...createSandboxHandlers(context),
    ...createPauseHandlers(context),
    ...createListHandlers(context),
    ...createMetricHandlers(context),
    ...createSnapshotHandlers(context),
    ...createTemplateHandlers({ ...context, images: images.templates }),
    ...createTemplateDetailHandlers(context),
    ...createTemplateListHandlers(context),
    ...createTagHandlers(context),
    ...createBuildCacheHandlers(context),
    ...createInspectionHandlers(context),
    ...createLogHandlers(context),
    ...createForkHandlers(context),
    ...createNetworkHandlers(context),
    ...createTeamHandlers(context),
    ...createApiKeyHandlers(context),
    ...createStorageHandlers({ storage, hosts }),
    ...createNodeHandlers({ ...context, nodes }),
    ...createExplainHandler({ ...context, nodes }),
  };
  const authenticate = createAuthenticate({ store, clock });
  const rates = createRequestRates();
  const authorise = async (
    request: CallHead,
    operation: string,
  ): Promise<Pick<Caller, 'scope' | 'keyId'>> => {
    const key = await authenticate(request.headers['x-api-key']);
    options.onAuthorised?.(request.raw, { keyId: key.id, project: key.project });
    // The server that a forwarded call has reached first has counted it.
    if (options.peers?.isFromPeer(request.raw) !== true) await rates.count(request.raw, key);
    const scope = toScope(key);
    requireAccess(operation, scope);
    await requireOwn(request, { store, scope });
    return { scope, keyId: key.id };
  };
  let redirect: ReturnType<typeof forwardCalls>['redirect'] = () => undefined;
  const server = createServer<PlatformPaths, Caller>({
    redirect: (...failed) => redirect(...failed),
    handlers: guardNewWork(answerOnce(reportLostRuntime(handlers), { store, clock, secret, log }), newWork),
    removed: removedBuilds,
    authenticate: async (request, operation) => {
      const { headers, raw } = request;
      const isForwarded = options.peers?.isFromPeer(raw) ?? false;
      // A call of another server itself: its certificate is what a key would be. One that it forwards has the key of its caller.
      const isServer = isForwarded && headers['x-api-key'] === undefined;
      const who = isServer ? { scope: EVERYTHING, keyId: null } : await authorise(request, operation);
      const origin = toPublicOrigin(headers, domain, options.isSecure);
      return { origin, apiKey: String(headers['x-api-key'] ?? ''), ...who, isForwarded, isServer };
    },
    log,
    ...(options.validateResponses !== undefined && { validateResponses: options.validateResponses }),
  });
  if (peers)
    ({ redirect } = forwardCalls(server, {
      peers,
      locate: createLocateCall({ store, servers: hosts.servers }),
      clock,
      onForward: options.telemetry?.onForward,
    }));
  server.addHook('onSend', async (request, reply, payload) => {
    reply.headers(rates.fieldsOf(request.raw));
    await drainRequest(request.raw);
    return payload;
  });
  if (buildFiles)
    serveUploads(server, {
      buildFiles,
      links: uploadLinks,
      onLinked: (request) => options.onLinked?.(request),
    });
  serveImages(server, { ...context, imports, images, authorise });
  serveDocument(server);
  serveFrontPage(server);
  server.get('/health', async (_request, reply) => {
    reply.type('text/plain').send('ok\n');
    return reply;
  });

  let closing = false;
  return {
    routing: (request, response) => {
      if (closing) refuse(request, response);
      else server.routing(request, response);
    },
    directory: plane.directory,
    census: plane.census,
    findMissing: createFindMissing({ store, hosts, clock }),
    refuseNewWork: newWork.refuse,
    buildsSettled: plane.templateBuilder.settled,
    start: async () => {
      const base = await store.ensureTemplate({
        id: ids.templateId(),
        project: DEFAULT_PROJECT,
        name: 'base',
        createdAt: clock.now(),
        cpuCount: limits.cpuCount,
        memoryMb: limits.memoryMb,
        diskMb: limits.diskMb,
      });
      await plane.start(base);
      await hosts.start(plane.nodeEvents);
      await server.ready();
    },
    close: async () => {
      closing = true;
      await server.close();
      await plane.close();
      await hosts.close();
    },
  };
};

/** Replaces fastify's own response, which lacks the numeric code that clients read. */
const refuse = (request: IncomingMessage, response: ServerResponse): void => {
  const error = shuttingDown();
  response
    .writeHead(error.status, {
      ...toErrorHeaders(error),
      'content-type': 'application/json',
      connection: 'close',
      [REQUEST_ID]: requestIdOf(request),
    })
    .end(JSON.stringify(toErrorBody(error)));
};
