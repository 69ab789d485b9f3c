import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Directory } from '@skerry/contract/directory';
import { ApiError, toErrorBody } from '@skerry/contract/error';
import { REQUEST_ID, requestIdOf } from '@skerry/contract/request-id';
import type { Runtime } from '@skerry/runtime';
import { createAuthenticate } from './api-key.ts';
import { type Clock, createSystemClock } from './clock.ts';
import { answeringLoss } from './handlers/answering-loss.ts';
import { createForkHandlers } from './handlers/forking.ts';
import { createInspectionHandlers } from './handlers/inspection.ts';
import { createListHandlers } from './handlers/listing.ts';
import { createLogHandlers } from './handlers/logs.ts';
import { createMetricHandlers } from './handlers/metrics.ts';
import { notImplemented } from './handlers/not-implemented.ts';
import { createPauseHandlers } from './handlers/pausing.ts';
import type { HandlerContext, PlatformHandlers, PlatformPaths } from './handlers/platform-handlers.ts';
import { createSandboxHandlers } from './handlers/sandboxes.ts';
import { createSnapshotHandlers } from './handlers/snapshots.ts';
import { createServer } from './http/serve.ts';
import { createRandomIds, type Ids } from './ids.ts';
import { defaultLimits, type Limits } from './limits.ts';
import type { Log } from './log.ts';
import { readOut } from './read-out.ts';
import { createControlPlane } from './sandboxes/control-plane.ts';
import type { Store } from './store/store.ts';

export interface PlatformOptions {
  runtime: Runtime;
  store: Store;
  /** Where the base template is unpacked. */
  images: { base: { rootfs: string } };
  /** Of `ensureSecret`. */
  secret: string;
  /** Public domain of sandboxes with its port, as in `localhost:3000`; null: clients use the domain they call. */
  domain: string | null;
  log: Log;
  limits?: Partial<Limits>;
  /** Whether `POST /sandboxes` without `secure` makes a sandbox that asks for its token; true when absent. */
  secureByDefault?: boolean;
  clock?: Clock;
  ids?: Ids;
  /** Also checks every answer against the document, for tests. */
  validateResponses?: boolean;
}

/** The control plane. It opens no port: whoever owns one hands the requests over. */
export interface Platform {
  /** Answers one request of the platform API. */
  routing(request: IncomingMessage, response: ServerResponse): void;
  /** How to reach the running sandboxes. */
  readonly directory: Directory;
  /**
   * Has to resolve before the first request: ends what expired meanwhile, adopts what runs, and removes what nobody
   * knows. From then on this is repeated every minute.
   */
  start(): Promise<void>;
  /** Waits for starts and ends that are under way. Sandboxes live on; runtime and store stay open. */
  close(): Promise<void>;
}

export const createPlatform = (options: PlatformOptions): Platform => {
  const { store, log, secret, domain } = options;
  const clock = options.clock ?? createSystemClock();
  const limits = { ...defaultLimits, ...options.limits };
  const ids = options.ids ?? createRandomIds();
  const plane = createControlPlane({ ...options, clock, limits, ids });

  const context: HandlerContext = {
    ...plane,
    store,
    clock,
    features: options.runtime.features,
    maxRunMs: limits.maxRunMs,
    secureByDefault: options.secureByDefault ?? true,
    maxSandboxes: limits.maxSandboxes,
    secret,
    domain,
  };
  const handlers: PlatformHandlers = {
    ...createSandboxHandlers(context),
    ...createPauseHandlers(context),
    ...createListHandlers(context),
    ...createMetricHandlers(context),
    ...createSnapshotHandlers(context),
    ...createInspectionHandlers(context),
    ...createLogHandlers(context),
    ...createForkHandlers(context),
    ...notImplemented,
  };
  const authenticate = createAuthenticate({ store, clock });
  const server = createServer<PlatformPaths, undefined>({
    handlers: answeringLoss(handlers),
    authenticate: async (headers) => {
      await authenticate(headers['x-api-key']);
      return undefined;
    },
    log,
    ...(options.validateResponses !== undefined && { validateResponses: options.validateResponses }),
  });
  server.addHook('onSend', async (request, _reply, payload) => {
    await readOut(request.raw);
    return payload;
  });
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
    start: async () => {
      const base = await store.ensureTemplate({
        id: ids.templateId(),
        name: 'base',
        createdAt: clock.now(),
        cpuCount: limits.cpuCount,
        memoryMb: limits.memoryMb,
        diskMb: limits.diskMb,
      });
      await plane.start(base);
      await server.ready();
    },
    close: async () => {
      closing = true;
      await server.close();
      await plane.close();
    },
  };
};

/** Fastify would answer this by itself, but without the numeric code that clients read. */
const refuse = (request: IncomingMessage, response: ServerResponse): void => {
  const error = new ApiError('unavailable', 'the server is shutting down', {
    reason: 'server_shutting_down',
  });
  response
    .writeHead(error.status, {
      'content-type': 'application/json',
      connection: 'close',
      [REQUEST_ID]: requestIdOf(request),
    })
    .end(JSON.stringify(toErrorBody(error)));
};
