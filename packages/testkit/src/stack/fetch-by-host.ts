import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface HostAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

export interface HostRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  /** Default: that of the URL. Also takes what no URL can hold. */
  readonly host?: string;
}

/** Fetches a URL below `localhost` from the loopback address: the C library of most systems does not resolve such names. */
export async function fetchByHost(url: string, options: HostRequest = {}): Promise<HostAnswer> {
  const { host, port, pathname, search } = new URL(url);
  const client = request({
    host: '127.0.0.1',
    port,
    path: pathname + search,
    method: options.method ?? 'GET',
    agent: false,
    headers: { ...options.headers, host: options.host ?? host },
  });
  client.end(options.body);
  const [answer] = (await once(client, 'response')) as [IncomingMessage];
  const body = await buffer(answer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body, text: body.toString() };
}
