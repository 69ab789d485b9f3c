import type { Answer, TestAgent } from './start-agent.ts';

export interface Part {
  name?: string;
  filename?: string;
  body: string;
}

/** Requests of `/files`, to an agent that need not have started yet. */
export function createFileRequests(agent: () => TestAgent) {
  const query = (values: Record<string, string>): string => `/files?${new URLSearchParams(values)}`;
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    agent().http({ path: query({ path }), headers });
  const put = (
    path: string | undefined,
    body: string | Uint8Array | AsyncIterable<Uint8Array>,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    agent().http({
      method: 'POST',
      path: query(path === undefined ? {} : { path }),
      headers: { 'content-type': 'application/octet-stream', ...headers },
      body,
    });
  const multipart = (
    path: string | undefined,
    parts: Part[],
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const text = parts.map(({ name = 'file', filename, body }) => {
      const file = filename === undefined ? '' : `; filename="${filename}"`;
      return `--B\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${body}\r\n`;
    });
    return put(path, `${text.join('')}--B--\r\n`, {
      'content-type': 'multipart/form-data; boundary=B',
      ...headers,
    });
  };
  return { query, get, put, multipart };
}
