import type { Answer, TestAgent } from './start-agent.ts';

/** Requests of `/files`, to an agent that need not have started yet. */
export function createFileRequests(agent: () => TestAgent) {
  const query = (values: Record<string, string>): string => `/files?${new URLSearchParams(values)}`;
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    agent().http({ path: query({ path }), headers });
  const put = (
    path: string,
    body: string | Uint8Array | AsyncIterable<Uint8Array>,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    agent().http({
      method: 'POST',
      path: query({ path }),
      headers: { 'content-type': 'application/octet-stream', ...headers },
      body,
    });
  return { query, get, put };
}
