import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Access, parseRequestUrl } from '@skerry/contract/agent-access';
import { ApiError, notFound, toApiError } from '@skerry/contract/error';
import type { HostUsage } from '../host-usage.ts';
import type { Log } from '../log.ts';
import type { SandboxLog } from '../sandbox-log.ts';
import type { SettingsStore } from '../settings.ts';
import { fromErrno } from '../system/errno.ts';
import type { Users } from '../system/users.ts';
import { checkAgentAccess } from './access.ts';
import { basicUserOf } from './auth.ts';
import { applyCors } from './cors.ts';
import { replyError, replyJson } from './reply.ts';

export interface ServerOptions {
  settings: SettingsStore;
  users: Users;
  usage: HostUsage;
  log: Log;
  sandboxLog: SandboxLog;
  /** Loads the modules that the first request of its kind needs. All large modules are loaded this way. */
  loadRpc: () => Promise<RequestListener>;
  loadFiles: () => Promise<FileHandlers>;
}

export type FileHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  request: { query: URLSearchParams; access: Access },
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

/** Writes an entry for each failure of the agent, and for each upload that failed for any reason but authentication. */
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
    // The id is set by the edge and shown to the caller, so that this line can be found with it.
    ...(typeof requestId === 'string' && { requestId: requestId.slice(0, 64) }),
  };
  if (isUpload) log.write({ level: 'warn', logger: 'files', message: 'upload failed', fields });
  else log.write({ level: 'error', logger: 'agent', message: 'request failed', fields });
};

/**
 * The public HTTP of the agent. Each request passes, in this order, the preflight, the access check, the user of its
 * Basic header, and only then its handler.
 */
export const createRequestListener = (options: ServerOptions): RequestListener => {
  const { settings, users, log, sandboxLog } = options;

  const dispatch = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { path, query } = parseRequestUrl(req.url ?? '/');
    const route = `${req.method} ${path}`;
    if (applyCors(req, res)) return;
    const access = checkAgentAccess(req, { route, query }, settings.current);
    if (isRpc(path)) {
      (await options.loadRpc())(req, res);
      return;
    }
    // A signature names the user itself: the bearer of a link must not choose another.
    const basicUser = access === 'signature' ? undefined : basicUserOf(req.headers.authorization);
    if (basicUser !== undefined) users.get(basicUser);
    switch (route) {
      case 'GET /health':
      case 'HEAD /health':
        res.writeHead(204, { 'Cache-Control': 'no-store' }).end();
        return;
      case 'GET /files':
      case 'HEAD /files':
        return (await options.loadFiles()).download(req, res, { query, access });
      case 'POST /files':
        return (await options.loadFiles()).upload(req, res, { query, access });
      case 'POST /files/compose':
        return (await options.loadFiles()).compose(req, res, { query, access });
      case 'GET /metrics':
        return (await import('./metrics.ts')).replyMetrics(res, options.usage);
      case 'GET /envs':
        replyJson(res, 200, settings.current.envVars);
        return;
    }
    const allowed = METHODS.get(path);
    if (allowed === undefined) throw notFound(`no route ${route}`);
    throw new ApiError('method_not_allowed', `${path} supports only ${allowed}`, {
      headers: { Allow: allowed },
    });
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
