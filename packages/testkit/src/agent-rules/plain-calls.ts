import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { expect } from 'vitest';
import { toRouting } from '../stack/stack-client.ts';

export interface PlainCall {
  headers?: Record<string, string>;
  body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Sent as `X-Access-Token`; null for none. Default: that of the sandbox. */
  token?: string | null;
}

export interface PlainAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
}

/** Requests to one agent exactly as given: nothing is added, followed or decompressed. */
export interface PlainCalls {
  call(route: string, call?: PlainCall): Promise<PlainAnswer>;
  /** Makes a call that must be answered with the JSON error body. */
  refusal(route: string, call?: PlainCall): Promise<{ status: number; message: string }>;
  /** Sends a request and resolves with the head of its answer; the caller reads the body. */
  open(route: string, call?: PlainCall): Promise<IncomingMessage>;
  /** `GET /files` of this path. */
  get(path: string, headers?: Record<string, string>): Promise<PlainAnswer>;
  /** `POST /files` of a raw body. */
  put(
    path: string,
    body: NonNullable<PlainCall['body']>,
    headers?: Record<string, string>,
  ): Promise<PlainAnswer>;
}

/** The call of `/files` for one path. */
export const filesOf = (path: string): string => `/files?${new URLSearchParams({ path })}`;

export const rawBody = { 'content-type': 'application/octet-stream' };

export const createPlainCalls = (
  ask: () => {
    stack: { address: { readonly sandboxUrl: string } };
    sandbox: { sandboxId: string; accessToken: string };
  },
): PlainCalls => {
  const open: PlainCalls['open'] = async (route, { headers = {}, body, token } = {}) => {
    const { stack, sandbox } = ask();
    const [method = '', path = ''] = route.split(' ');
    const given = token === undefined ? sandbox.accessToken : token;
    const { hostname, port } = new URL(stack.address.sandboxUrl);
    const outgoing = request({
      hostname,
      port,
      method,
      // Not as part of a URL, which would clean it.
      path,
      agent: false,
      headers: {
        ...toRouting(sandbox.sandboxId),
        ...(given === null ? {} : { 'X-Access-Token': given }),
        ...headers,
      },
    });
    const answer = once(outgoing, 'response');
    // A refused request may be answered before it is sent, and the rest then meets a closed connection. The wait for the
    // answer, or the read of its body, reports other errors.
    outgoing.on('error', () => undefined);
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) outgoing.end(body);
    else await Promise.race([pipeline(body, outgoing), answer]);
    const [response] = (await answer) as [IncomingMessage];
    return response;
  };
  const call: PlainCalls['call'] = async (route, options) => {
    const response = await open(route, options);
    const bytes = await buffer(response);
    return { status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() };
  };
  return {
    open,
    call,
    async refusal(route, options) {
      const { status, headers, text } = await call(route, options);
      expect(headers['content-type'], text).toMatch(/^application\/json/);
      const { code, message, ...rest } = JSON.parse(text) as { code: number; message: string };
      expect([code, rest, typeof message]).toEqual([status, {}, 'string']);
      return { status, message };
    },
    get: (path, headers = {}) => call(`GET ${filesOf(path)}`, { headers }),
    put: (path, body, headers = {}) =>
      call(`POST ${filesOf(path)}`, { headers: { ...rawBody, ...headers }, body }),
  };
};
