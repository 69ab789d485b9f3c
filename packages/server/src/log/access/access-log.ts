import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { agentPort } from '@skerry/contract/directory';
import { requestIdOf } from '@skerry/contract/request-id';
import { answerOf, findTarget, type HostRules } from '@skerry/edge';
import { countBodyBytes } from './body-bytes.ts';
import { toShownPath } from './shown-path.ts';

/** One request and its answer. What does not apply to the request is absent. */
export interface AccessEntry {
  /** When the request began, in ISO 8601. */
  time: string;
  requestId: string;
  /** The address from which the connection comes; a proxy has its own. */
  client: string | undefined;
  protocol: string;
  method: string | undefined;
  /** What the host name, or the routing headers, address. */
  host: 'api' | 'agent' | 'port' | 'malformed';
  sandboxId?: string;
  port?: number;
  path: string;
  /** Absent when the client disconnected before an answer. */
  status?: number;
  /** Whether the answer was sent to its end. */
  isComplete: boolean;
  bytesIn: number;
  bytesOut: number;
  durationMs: number;
  /** The id of the API key, never the key. */
  keyId?: string;
  /** The project that the key is limited to; null for one of all projects. */
  project?: string | null;
}

/** The caller of a request, by its key. */
export type KeyOwner = Required<Pick<AccessEntry, 'keyId' | 'project'>>;

export interface AccessLog {
  /** Writes the entry of a request when its answer, or the connection of an upgraded one, has closed. */
  begin(request: IncomingMessage, answer: ServerResponse | Duplex): void;
  /** Records whose key a request has. */
  noteKey(request: IncomingMessage, owner: KeyOwner): void;
}

/** Creates a log of requests of API and edge, which must be told of each before it is handled. */
export const createAccessLog = (write: (entry: AccessEntry) => void, rules: HostRules): AccessLog => {
  const owners = new WeakMap<IncomingMessage, KeyOwner>();
  return {
    begin(request, answer) {
      const begin = performance.now();
      const time = new Date().toISOString();
      // The connection has none any more when it has closed.
      const client = request.socket.remoteAddress;
      const { method, url = '', httpVersion } = request;
      const place = toPlace(request, rules);
      const bytes = countBodyBytes(request, answer);
      answer.once('close', () => {
        write({
          time,
          requestId: requestIdOf(request),
          client,
          protocol: `HTTP/${httpVersion}`,
          method,
          ...place,
          path: toShownPath(url, place.host),
          ...toStatus('statusCode' in answer ? answer : answerOf(request)),
          isComplete: answer.writableFinished,
          bytesIn: bytes.received,
          bytesOut: bytes.sent,
          durationMs: Math.round((performance.now() - begin) * 10) / 10,
          ...owners.get(request),
        });
      });
    },
    noteKey: (request, owner) => void owners.set(request, owner),
  };
};

/** Returns what a request addresses. */
export const toPlace = (
  { headers }: IncomingMessage,
  rules: HostRules,
): Pick<AccessEntry, 'host' | 'sandboxId' | 'port'> => {
  const target = findTarget(headers, rules);
  if (target === undefined || target === 'malformed') return { host: target ?? 'api' };
  return { host: target.port === agentPort ? 'agent' : 'port', ...target };
};

/** Returns the status of an answer. An upgrade is answered past the response of Node, which then has its status alone. */
export const toStatus = (response: ServerResponse | undefined): { status?: number } =>
  response?.headersSent || response?.statusCode === 101 ? { status: response.statusCode } : {};
