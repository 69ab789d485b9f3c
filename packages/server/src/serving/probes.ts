import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HostRules, isSandboxAddress } from '@skerry/edge';

/** Why a server is not ready although nothing is missing. */
type Phase = 'starting' | 'draining';

/** Answers probes of liveness and readiness, which need no key. */
export interface Probes {
  /** Whether the request was a probe: it has its answer then, or gets it soon. */
  answer(request: IncomingMessage, response: ServerResponse): boolean;
  /** From now on the server is in that phase, or ready unless the function finds something missing. Until then it is starting. */
  set(state: Phase | (() => Promise<readonly string[]>)): void;
}

/**
 * `/livez` is 200 as long as the event loop turns. `/readyz` is 200 when the server can take requests; otherwise 503 with the reasons, which
 * are of a closed set: anyone can ask.
 */
export function createProbes(rules: HostRules): Probes {
  let state: Phase | (() => Promise<readonly string[]>) = 'starting';
  const findReasons = async (): Promise<readonly string[]> =>
    typeof state === 'function' ? state() : [state];

  const sendReadiness = async (response: ServerResponse): Promise<void> => {
    const reasons = await findReasons();
    if (reasons.length === 0) send(response, 200, { status: 'ready' });
    else send(response.setHeader('retry-after', '1'), 503, { status: 'not ready', reasons });
  };

  return {
    answer: (request, response) => {
      if (request.method !== 'GET' && request.method !== 'HEAD') return false;
      const path = request.url?.split('?', 1)[0];
      if ((path !== '/livez' && path !== '/readyz') || isSandboxAddress(request.headers, rules)) return false;
      if (path === '/livez') send(response, 200, { status: 'alive' });
      else void sendReadiness(response);
      return true;
    },
    set: (next) => {
      state = next;
    },
  };
}

const send = (response: ServerResponse, status: number, body: object): void => {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`${JSON.stringify(body)}\n`);
};
