import type { StackClient } from '../stack/stack-client.ts';

export interface PlatformAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the body is none. */
  readonly json: unknown;
}

export type PlatformCall = (
  route: string,
  call?: { body?: string; headers?: Record<string, string>; key?: string | null },
) => Promise<PlatformAnswer>;

/** Calls of the platform's API as they go over the wire, with the key of the stack unless another, or none, is given. */
export const createPlatformCall =
  (ask: () => StackClient): PlatformCall =>
  async (route, { body, headers = {}, key = ask().address.apiKey } = {}) => {
    const [method = '', path = ''] = route.split(' ');
    const response = await fetch(ask().address.apiUrl + path, {
      method,
      headers: {
        ...(key === null ? {} : { 'X-API-Key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
  };
