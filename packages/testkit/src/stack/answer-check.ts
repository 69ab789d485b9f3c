import { readFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeader } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { parse } from 'yaml';

export interface Answer {
  readonly status: number;
  /** By lower-case name. */
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
  readonly pointer: readonly string[];
}

export interface AnswerCheck {
  /** The operation that a request is for; undefined when the document has none, or the port is not the agent's. */
  find(request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): CheckedOperation | undefined;
  /** What is wrong with an answer, as one line; undefined when the document allows it. */
  findProblem(operation: CheckedOperation, answer: Answer): string | undefined;
}

type Node = Record<string, unknown>;

/** Headers of the connection, of the body as such, and of the rules of browsers: every answer may have them. */
const GENERAL_HEADERS =
  /^(date|connection|keep-alive|transfer-encoding|content-type|content-length|content-encoding|vary|cache-control|access-control-.*)$/;
const AGENT_PORT = '49983';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Reads `specs/openapi.yaml` and makes the checks of its operations, each when it is first needed. */
export function createAnswerCheck(): AnswerCheck {
  const text = readFileSync(new URL('../../../../specs/openapi.yaml', import.meta.url), 'utf8');
  const document = parse(text) as { paths: Record<string, Node> };
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  formats.default(ajv);
  ajv.addSchema(document, 'openapi');
  const routes = Object.entries(document.paths)
    .map(([path, item]) => ({
      path,
      item,
      spaces: item.servers === undefined ? ['platform'] : toSpaces(item.servers as { url: string }[]),
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    }))
    // A fixed segment wins over a parameter.
    .toSorted((a, b) => countParameters(a.path) - countParameters(b.path));

  const at = (pointer: readonly string[]): { node: Node | undefined; pointer: readonly string[] } => {
    const node = pointer.reduce<unknown>((value, step) => (value as Node | undefined)?.[step], document);
    const reference = (node as { $ref?: string } | undefined)?.$ref;
    return reference === undefined
      ? { node: node as Node | undefined, pointer }
      : at(reference.slice(2).split('/'));
  };

  return {
    find({ method = '', url = '', headers }) {
      const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
      const space = findSpace(headers);
      const [path = ''] = url.split('?');
      const route = routes.find(
        ({ pattern, spaces }) => space !== undefined && spaces.includes(space) && pattern.test(path),
      );
      if (route === undefined || !METHODS.includes(verb) || route.item[verb] === undefined) return undefined;
      return { key: `${verb.toUpperCase()} ${route.path}`, pointer: ['paths', route.path, verb] };
    },
    findProblem({ key, pointer }, { status, headers, body, isHead }) {
      const response = at([...pointer, 'responses', String(status)]);
      const evidence = body?.toString('utf8', 0, 200) ?? '';
      if (response.node === undefined) return `${key}: status ${status} ${evidence}`;
      const declared = Object.keys((response.node.headers ?? {}) as Node).map((name) => name.toLowerCase());
      const extra = Object.keys(headers).filter(
        (name) => !GENERAL_HEADERS.test(name) && !declared.includes(name),
      );
      if (extra.length > 0) return `${key}: ${status} with the header ${extra.join(', ')}`;
      if (isHead || body === undefined) return undefined;
      const content = (response.node.content ?? {}) as Node;
      const [type = ''] = String(headers['content-type'] ?? '').split(';');
      if (body.length === 0 && content[type] === undefined) return undefined;
      if (content[type] === undefined) return `${key}: ${status} with a body of type "${type}" ${evidence}`;
      if (type !== 'application/json' || headers['content-encoding'] !== undefined) return undefined;
      const schema = [...response.pointer, 'content', type, 'schema'];
      const check = ajv.compile({ $ref: `openapi#/${schema.map(escapePointer).join('/')}` });
      if (check(JSON.parse(body.toString()))) return undefined;
      return `${key}: ${status} ${ajv.errorsText(check.errors)} ${evidence}`;
    },
  };
}

const toSpaces = (servers: { url: string }[]): string[] =>
  servers.map(({ url }) => (url.includes('{sandboxID}') ? 'sandbox' : 'platform'));

const countParameters = (path: string): number => path.split('{').length;

const escapePointer = (step: string): string =>
  encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));

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
