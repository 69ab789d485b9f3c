import type { IncomingMessage, OutgoingHttpHeader } from 'node:http';
import operations from '@skerry/contract/operations.json' with { type: 'json' };
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export interface Answer {
  readonly status: number;
  /** The headers by lower-case name. */
  readonly headers: Record<string, OutgoingHttpHeader>;
  /** Undefined when it was too large to keep. */
  readonly body: Buffer | undefined;
  /** Whether it answers a HEAD request, so that it has no body. */
  readonly isHead: boolean;
}

/** One operation of the document. */
export interface CheckedOperation {
  /** Such as `GET /files`. */
  readonly key: string;
  /** The declared responses by status. */
  readonly responses: Record<string, Response>;
}

interface Response {
  headers?: Record<string, unknown>;
  content?: Record<string, { schema: object } | undefined>;
}
interface PathItem extends Partial<Record<(typeof METHODS)[number], Pick<CheckedOperation, 'responses'>>> {
  servers?: { url: string }[];
}

export interface AnswerCheck {
  /** The operation that a request is for; undefined when the document has none, or the port is not the agent's. */
  find(request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): CheckedOperation | undefined;
  /** What is wrong with an answer, as one line; undefined when the document allows it. */
  findProblem(operation: CheckedOperation, answer: Answer): string | undefined;
}

/** Headers of the connection, of the body as such, of the rules of browsers, and of the rate of a key: every answer may have them. */
const GENERAL_HEADERS =
  /^(date|connection|keep-alive|transfer-encoding|content-type|content-length|content-encoding|vary|cache-control|strict-transport-security|access-control-.*|ratelimit(-(limit|remaining|reset|policy))?)$/;
const AGENT_PORT = '49983';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Makes the checks of the operations of `specs/openapi.yaml`, each when it is first needed. */
export function createAnswerCheck(): AnswerCheck {
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  formats.default(ajv);
  const routes = Object.entries(operations.paths as Record<string, PathItem>)
    .map(([path, item]) => ({
      path,
      item,
      spaces: item.servers === undefined ? ['platform'] : toSpaces(item.servers),
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    }))
    // A fixed segment wins over a parameter.
    .toSorted((a, b) => countParameters(a.path) - countParameters(b.path));

  return {
    find({ method = '', url = '', headers }) {
      const verb = METHODS.find((name) => name === (method === 'HEAD' ? 'get' : method.toLowerCase()));
      const space = findSpace(headers);
      const [path = ''] = url.split('?');
      const route = routes.find(
        ({ pattern, spaces }) => space !== undefined && spaces.includes(space) && pattern.test(path),
      );
      const operation = verb && route?.item[verb];
      return operation && { key: `${verb.toUpperCase()} ${route?.path}`, responses: operation.responses };
    },
    findProblem({ key, responses }, { status, headers, body, isHead }) {
      const response = responses[status];
      const evidence = body?.toString('utf8', 0, 200) ?? '';
      if (response === undefined) return `${key}: status ${status} ${evidence}`;
      const declared = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
      const extra = Object.keys(headers).filter(
        (name) => !GENERAL_HEADERS.test(name) && !declared.includes(name),
      );
      if (extra.length > 0) return `${key}: ${status} with the header ${extra.join(', ')}`;
      if (isHead || body === undefined) return undefined;
      const [type = ''] = String(headers['content-type'] ?? '').split(';');
      const content = response.content?.[type];
      if (body.length === 0 && content === undefined) return undefined;
      if (content === undefined) return `${key}: ${status} with a body of type "${type}" ${evidence}`;
      if (type !== 'application/json' || headers['content-encoding'] !== undefined) return undefined;
      const check = ajv.compile(content.schema);
      if (check(JSON.parse(body.toString()))) return undefined;
      return `${key}: ${status} ${ajv.errorsText(check.errors)} ${evidence}`;
    },
  };
}

const toSpaces = (servers: { url: string }[]): string[] =>
  servers.map(({ url }) => (url.includes('{sandboxID}') ? 'sandbox' : 'platform'));

const countParameters = (path: string): number => path.split('{').length;

/**
 * Undefined for a port that is not the agent's, since what a program inside answers is its own affair, and where the routing
 * headers came to a host on which they may not count.
 */
const findSpace = (headers: IncomingMessage['headers']): 'platform' | 'sandbox' | undefined => {
  const { host = '' } = headers;
  const [, label] = /^(\d+)-/.exec(host) ?? [];
  const named = headers['e2b-sandbox-port'] ?? headers['e2b-sandbox-id'];
  if (label === undefined && named === undefined) return 'platform';
  if (label === undefined && !/^(localhost|127\.0\.0\.1|sandbox\..*)(:\d+)?$/.test(host)) return undefined;
  return (label ?? headers['e2b-sandbox-port']) === AGENT_PORT ? 'sandbox' : undefined;
};
