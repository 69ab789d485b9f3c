import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError, invalid, notFound, toApiError, toErrorBody, toErrorHeaders } from '@skerry/contract/error';
import { REQUEST_ID, requestIdOf } from '@skerry/contract/request-id';
import { inRequestSpan } from '@skerry/contract/tracing';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { allowAnyOrigin } from './cross-origin.ts';
import { type OperationDescription, readOperation } from './document.ts';
import { compileSerializersLate } from './lazy-serializers.ts';
import type { Handlers } from './routes.ts';
import { createValidators, type Validators } from './validate.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Longest path parameter in its encoded form: a reference of 300 characters, each taking three. */
const MAX_PARAM_LENGTH = 1024;

const DEFAULT_BODY_LIMIT_BYTES = 4 * 1024 * 1024;

export interface ServerOptions<Paths, Context> {
  handlers: Handlers<Paths, Context>;
  /** Identifies the caller of an operation before the body is read; throws for one that may not make it. */
  authenticate: (request: CallHead, operation: string) => Context | Promise<Context>;
  log: { error(message: string, fields: Record<string, unknown>): void };
  /** Whether every response is validated against the document, for tests: a wrong one becomes a 500. */
  validateResponses?: boolean;
  bodyLimitBytes?: number;
  /** Operations that the protocol has removed, such as `"POST /templates"`, with the message of their 410. */
  removed?: Record<string, string>;
  /** Makes a call elsewhere whose handler has rejected with that; undefined: the error is rendered. */
  redirect?: (
    error: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => Promise<FastifyReply> | undefined;
}

/** What is known of a call before its body and its validation. */
export interface CallHead {
  headers: IncomingHttpHeaders;
  params: unknown;
  query: unknown;
  raw: IncomingMessage;
}

interface AnyReply {
  status: number;
  headers?: Record<string, unknown>;
  body?: unknown;
}
type AnyHandler = (request: Record<string, unknown>) => AnyReply | Promise<AnyReply>;

/**
 * Creates a fastify instance that serves the operations of the document that have handlers, and answers every other
 * request with the JSON error body: unknown paths 404, other methods of a known path 405. More routes may be added
 * before `ready()`. Paths are matched while still percent-encoded, so a parameter may contain an encoded `/`.
 */
export const createServer = <Paths, Context>(options: ServerOptions<Paths, Context>): FastifyInstance => {
  const server = fastify({
    bodyLimit: options.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: ({ code }, _request, reply) => {
      const message =
        code === 'FST_ERR_MAX_PARAM_LENGTH'
          ? `a path parameter is longer than ${MAX_PARAM_LENGTH} characters`
          : 'the path has invalid percent-encoding';
      void renderError(reply, invalid(message));
    },
  });
  server.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID, requestIdOf(request.raw));
  });
  compileSerializersLate(server);
  allowAnyOrigin(server);
  server.setErrorHandler(async (given, request, reply) => {
    let error: unknown = given;
    try {
      const made = options.redirect?.(error, request, reply);
      if (made !== undefined) return await made;
    } catch (failure) {
      error = failure;
    }
    const apiError = fromFastify(error);
    // A caller that disconnects while sending its body is not a defect. `raw.destroyed` is also true once a body was
    // read.
    const callerLeft = !request.raw.complete && request.raw.socket.destroyed;
    const worthKnowing =
      apiError.code === 'internal' || (apiError.status > 500 && apiError.cause !== undefined);
    if (worthKnowing && !callerLeft) {
      const requestId = requestIdOf(request.raw);
      const { method } = request;
      options.log.error('request failed', { requestId, method, path: request.routeOptions.url, error });
    }
    return renderError(reply, apiError);
  });
  server.setNotFoundHandler((request, reply) =>
    renderError(reply, notFound(`there is no operation ${request.method} ${pathOf(request)}`)),
  );
  acceptJson(server);

  const validators = createValidators();
  const methodsByPath = new Map<string, string[]>();
  // The document, which the validators enforce, is the source of the handlers' types.
  for (const [key, handler] of Object.entries(options.handlers as unknown as Record<string, AnyHandler>)) {
    const [method = '', path = ''] = key.split(' ');
    methodsByPath.set(path, [...(methodsByPath.get(path) ?? []), method]);
    mount(server, { key, handler, validators, ...options });
  }
  const removed = Object.entries(options.removed ?? {});
  for (const [key, message] of removed) refuseRemoved(server, key, message);
  for (const [path, methods] of methodsByPath) {
    const others = METHODS.filter((method) => !methods.includes(method));
    refuseOtherMethods(server, path, {
      methods,
      others: others.filter((method) => !removed.some(([key]) => key === `${method} ${path}`)),
    });
  }
  return server;
};

const mount = (
  server: FastifyInstance,
  {
    key,
    handler,
    validators,
    authenticate,
    validateResponses,
  }: {
    key: string;
    handler: AnyHandler;
    validators: Validators;
    authenticate: (request: CallHead, operation: string) => unknown;
    validateResponses?: boolean;
  },
): void => {
  const [method = '', path = ''] = key.split(' ');
  const operation = readOperation(key);
  const checkRequest = validators.forRequest(operation);
  const checkResponse = validateResponses ? validators.forResponse(operation) : undefined;
  const contexts = new WeakMap<FastifyRequest, unknown>();

  server.route({
    method,
    url: toRoutePattern(path),
    schema: { response: toResponseSchemas(operation) },
    onRequest: async (request) => {
      contexts.set(request, await authenticate(request, key));
    },
    handler: async (request, reply) => {
      const parts = checkRequest({
        params: request.params as Record<string, unknown>,
        query: request.query as Record<string, unknown>,
        headers: request.headers,
        body: request.body ?? undefined,
      });
      const call = { ...parts, context: contexts.get(request), signal: toSignal(reply) };
      const answer = await inRequestSpan(request.raw, key, () => handler(call));
      checkResponse?.(answer.status, answer.body);
      for (const [name, value] of Object.entries(answer.headers ?? {})) {
        if (value !== undefined) reply.header(name, value);
      }
      return reply.code(answer.status).send(answer.body);
    },
  });
};

/**
 * Aborts when the connection ends before the response. `request.raw` closes as soon as the body is read, so it does
 * not show it.
 */
const toSignal = ({ raw }: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort(new ApiError('timeout', 'the caller disconnected'));
  });
  return controller.signal;
};

/** Bodies are JSON or absent; a JSON content type with an empty body, which some clients send, counts as absent. */
const acceptJson = (server: FastifyInstance): void => {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    if (text.trim() === '') return done(null, undefined);
    void parse(request, text, (error, body) =>
      error ? done(invalid('body is not valid JSON')) : done(null, body),
    );
  });
};

const refuseRemoved = (server: FastifyInstance, key: string, message: string): void => {
  const [method = '', path = ''] = key.split(' ');
  server.route({
    method,
    url: toRoutePattern(path),
    handler: () => {
      throw new ApiError('gone', message);
    },
  });
};

const refuseOtherMethods = (
  server: FastifyInstance,
  path: string,
  { methods, others }: { methods: string[]; others: string[] },
): void => {
  server.route({
    method: others,
    url: toRoutePattern(path),
    handler: (request) => {
      throw new ApiError(
        'method_not_allowed',
        `${path} does not support ${request.method}, only ${methods.join(', ')}`,
        {
          headers: { Allow: methods.join(', ') },
        },
      );
    },
  });
};

const toResponseSchemas = ({ responses }: OperationDescription): Record<number, unknown> =>
  Object.fromEntries([...responses].filter(([, schema]) => schema !== undefined));

const toRoutePattern = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

const pathOf = (request: FastifyRequest): string => (request.url.split('?')[0] ?? '').slice(0, 200);

const renderError = (reply: FastifyReply, error: ApiError): FastifyReply =>
  reply
    .headers({ ...toErrorHeaders(error), [REQUEST_ID]: requestIdOf(reply.request.raw) })
    .code(error.status)
    .send(toErrorBody(error));

/** Fastify's own refusals are mistakes of the caller, though not all with a status of the protocol. */
const fromFastify = (error: unknown): ApiError => {
  switch ((error as { code?: unknown } | null)?.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return invalid('the content type must be application/json');
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return invalid('the body is too large');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalid('Content-Length does not match the body');
    default:
      return toApiError(error);
  }
};
