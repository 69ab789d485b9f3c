import './rpc/workarounds/native-base64.ts';
import type { RequestListener } from 'node:http';
import {
  type ConnectError,
  createConnectRouter,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect';
import { Filesystem } from '@skerry/envd-client/filesystem';
import { Process } from '@skerry/envd-client/process';
import { withLargeListing } from './filesystem/large-listing.ts';
import { createLateFilesystem } from './filesystem/late-filesystem.ts';
import { createSizeEncoder } from './filesystem/workarounds/size-encoder.ts';
import { basicUserOf } from './http/auth.ts';
import { dropUnread } from './http/unread-body.ts';
import { loadOnce } from './load-once.ts';
import type { Log } from './log.ts';
import { createProcessService } from './process/process-service.ts';
import { blameCaller, IS_OURS, withBlame } from './rpc/blame.ts';
import { USER } from './rpc/context.ts';
import { toConnectError } from './rpc/error.ts';
import { lateGzip } from './rpc/late-gzip.ts';
import { createNodeListener } from './rpc/node-listener.ts';
import { checkRpcRequest } from './rpc/request.ts';
import { usePlainHeaders } from './rpc/workarounds/plain-headers.ts';
import type { SandboxLog } from './sandbox-log.ts';
import type { SettingsStore } from './settings.ts';
import type { Users } from './system/users.ts';

export { endAllWith } from './process/end-all.ts';
export { runSelfTest } from './process/self-test.ts';

usePlainHeaders();

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** The longest delay of a Node timer, about 24 days. A longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

async function* translate(messages: AsyncIterable<never>, fail: (error: unknown) => ConnectError) {
  try {
    yield* messages;
  } catch (error) {
    throw fail(error);
  }
}

const createErrorInterceptor =
  (log: Log): Interceptor =>
  (next) =>
  async (request) => {
    const fail = (error: unknown): ConnectError => toConnectError(error, { log, url: request.url });
    try {
      const response = await next(request);
      return response.stream
        ? { ...response, message: translate(response.message as AsyncIterable<never>, fail) }
        : response;
    } catch (error) {
      throw fail(error);
    }
  };

/** No limit is spelled as an absent header or as 0; connect-es knows only the first. */
const toTimeout = (text: string | undefined): string | undefined => {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return text;
  return Number(text) === 0 ? undefined : String(Math.min(Number(text), MAX_TIMER_MS));
};

/** Answers the Connect calls of the agent, over JSON and protobuf. */
export const createRpcListener = (options: {
  settings: SettingsStore;
  users: Users;
  log: Log;
  sandboxLog: SandboxLog;
}): RequestListener => {
  const { settings, users, log, sandboxLog } = options;
  const identify = ({ requestHeader, values }: HandlerContext): void => {
    const name = basicUserOf(requestHeader.get('authorization') ?? undefined) ?? settings.current.defaultUser;
    try {
      values.set(USER, users.get(name));
    } catch (error) {
      values.set(IS_OURS, true);
      throw toConnectError(error, { log, url: 'authorization' });
    }
  };
  const sizesAsNumbers = { ignoreUnknownFields: true, textEncoder: createSizeEncoder() };
  const protocols = { grpc: false, grpcWeb: false };
  const router = createConnectRouter({
    ...protocols,
    acceptCompression: [lateGzip],
    readMaxBytes: MAX_MESSAGE_BYTES,
    requireConnectProtocolHeader: true,
    requestGate: identify,
    interceptors: [createErrorInterceptor(log), blameCaller],
  });
  router.service(Process, createProcessService({ settings, log: sandboxLog }));
  const loadFilesystem = loadOnce(async () =>
    (await import('./filesystem/filesystem-service.ts')).createFilesystemService({ settings, users }),
  );
  router.service(Filesystem, createLateFilesystem(loadFilesystem), {
    // Repeat the options here: connect-es turns on what the options of a service leave out.
    ...protocols,
    jsonOptions: sizesAsNumbers,
  });
  const listener = createNodeListener({
    router,
    wrap: (handler) => withLargeListing(withBlame(handler)),
    contextValues: () => createContextValues(),
    onError: (path, error) => log(`${path} failed`, { error }),
  });
  return (req, res) => {
    checkRpcRequest(req);
    const timeout = toTimeout(req.headers['connect-timeout-ms'] as string | undefined);
    if (timeout === undefined) delete req.headers['connect-timeout-ms'];
    else req.headers['connect-timeout-ms'] = timeout;
    // A client that sends gzip may not accept it, but connect-es assumes that it does.
    for (const prefix of ['', 'connect-']) {
      if (req.headers[`${prefix}content-encoding`] !== undefined)
        req.headers[`${prefix}accept-encoding`] ||= 'identity';
    }
    // The host plays no part here, and connect-es throws on one that is missing or does not parse.
    req.headers[req.httpVersionMajor === 2 ? ':authority' : 'host'] = 'sandbox';
    dropUnread(req, res);
    listener(req, res);
  };
};
