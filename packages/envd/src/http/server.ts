import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ApiError, notFound, toApiError } from '@skerry/contract/error';
import type { HostUsage } from '../host/host-usage.ts';
import type { SandboxLog } from '../host/sandbox-log.ts';
import type { Log } from '../log.ts';
import type { SettingsStore } from '../settings.ts';
import { fromErrno } from '../system/errno.ts';
import type { Users } from '../system/users.ts';
import { checkAccess } from './access.ts';
import { accessTokenOf, basicUserOf } from './auth.ts';
import { applyCors } from './cors.ts';
import { replyError, replyJson } from './reply.ts';

export interface ServerOptions {
  settings: SettingsStore;
  users: Users;
  usage: HostUsage;
  log: Log;
  sandboxLog: SandboxLog;
  /** Loads what the first request of its kind needs; everything heavy hides behind these. */
  loadRpc: () => Promise<RequestListener>;
  loadFiles: () => Promise<FileHandlers>;
}

export type FileHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  query: URLSearchParams,
) => Promise<void>;
export interface FileHandlers {
  download: FileHandler;
  upload: FileHandler;
  compose: FileHandler;
}

const METHODS: ReadonlyMap<string, string> = new Map([
  ['/health', 'GET, HEAD'],
  ['/files', 'GET, HEAD, POST'],
  ['/files/compose', 'POST'],
  ['/metrics', 'GET'],
  ['/envs', 'GET'],
]);

const isRpc = (path: string): boolean =>
  path.startsWith('/process.Process/') || path.startsWith('/filesystem.Filesystem/');

/** Tells of what the agent could not do, and of files that did not arrive whoever was to blame. */
const logFailure = (
  log: SandboxLog,
  { method, url = '', headers }: IncomingMessage,
  error: ApiError,
): void => {
  const [path = ''] = url.split('?', 1);
  const isUpload = method === 'POST' && path.startsWith('/files');
  if (error.status < 500 && !(isUpload && error.code !== 'unauthenticated')) return;
  const request = `${method} ${path.slice(0, 200)}`;
  const requestId = headers['x-request-id'];
  const fields = {
    request,
    status: String(error.status),
    error: error.message.slice(0, 500),
    // Given by the edge, so that this line can be found from what the caller saw.
    ...(typeof requestId === 'string' && { requestId: requestId.slice(0, 64) }),
  };
  if (isUpload) log.write({ level: 'warn', logger: 'files', message: 'upload failed', fields });
  else log.write({ level: 'error', logger: 'agent', message: 'request failed', fields });
};

/**
 * The public HTTP of the agent. Each request passes, in this order, the preflight, the access token, the user of its
 * Basic header, and only then its handler.
 */
export const createRequestListener = (options: ServerOptions): RequestListener => {
  const { settings, users, log, sandboxLog } = options;

  const dispatch = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const url = req.url ?? '/';
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    const route = `${req.method} ${path}`;
    if (applyCors(req, res)) return;
    const query = new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
    const { accessToken } = settings.current;
    checkAccess({ route, accessToken, given: accessTokenOf(req), query, nowMs: Date.now() });
    if (isRpc(path)) {
      (await options.loadRpc())(req, res);
      return;
    }
    const basicUser = basicUserOf(req.headers.authorization);
    if (basicUser !== undefined) users.get(basicUser);
    switch (route) {
      case 'GET /health':
      case 'HEAD /health':
        res.writeHead(204, { 'Cache-Control': 'no-store' }).end();
        return;
      case 'GET /files':
      case 'HEAD /files':
        return (await options.loadFiles()).download(req, res, query);
      case 'POST /files':
        return (await options.loadFiles()).upload(req, res, query);
      case 'POST /files/compose':
        return (await options.loadFiles()).compose(req, res, query);
      case 'GET /metrics':
        return (await import('./metrics.ts')).replyMetrics(res, options.usage);
      case 'GET /envs':
        replyJson(res, 200, settings.current.envVars);
        return;
    }
    const allowed = METHODS.get(path);
    if (allowed === undefined) throw notFound(`no route ${route}`);
    throw new ApiError('method_not_allowed', `${path} answers ${allowed}`, { headers: { Allow: allowed } });
  };

  return (req, res) => {
    dispatch(req, res).catch((error: unknown) => {
      const apiError = toApiError(fromErrno(error));
      if (apiError.code === 'internal')
        log('request failed', { url: req.url, error: apiError.cause ?? apiError });
      logFailure(sandboxLog, req, apiError);
      replyError(res, apiError);
    });
  };
};
