import { readFileSync } from 'node:fs';
import { ApiError } from '@skerry/contract/error';
import { describe, expect, it } from 'vitest';
import { checkAccess } from './access.ts';
import { createSignature, type FileOperation } from './signature.ts';

interface Vectors {
  now: number;
  signatures: {
    title: string;
    path: string;
    operation: FileOperation;
    username: string;
    token: string;
    expiration: number | null;
    signature: string;
  }[];
  requests: {
    title: string;
    method: string;
    token: string | null;
    header: string | null;
    query: Record<string, string>;
    result: 'allowed' | { status: number; message?: string };
  }[];
}

const vectors = JSON.parse(
  readFileSync(new URL('../../../../specs/vectors/signatures.json', import.meta.url), 'utf8'),
) as Vectors;

describe('createSignature', () => {
  it.each(vectors.signatures)('signs as clients do: $title', ({ token, expiration, signature, ...input }) => {
    expect(createSignature({ ...input, accessToken: token, expiration: expiration?.toString() })).toBe(
      signature,
    );
  });
});

describe('checkAccess to /files', () => {
  const decide = ({ method, token, header, query }: Vectors['requests'][number]): void =>
    checkAccess({
      route: `${method} /files`,
      accessToken: token ?? undefined,
      given: header ?? undefined,
      query: new URLSearchParams(query),
      nowMs: vectors.now * 1000,
    });

  it.each(vectors.requests)('decides by token, then signature: $title', (request) => {
    if (request.result === 'allowed') {
      expect(() => decide(request)).not.toThrow();
      return;
    }
    let thrown: unknown;
    try {
      decide(request);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject(request.result);
  });
});

describe('checkAccess to other routes', () => {
  const check = (route: string, given?: string): void =>
    checkAccess({ route, accessToken: 'secret', given, query: new URLSearchParams(), nowMs: 0 });

  it('leaves GET /health open', () => {
    expect(() => check('GET /health')).not.toThrow();
  });

  it.each(['POST /health', 'GET /health/', 'GET /files/', 'DELETE /files', 'POST /init', 'GET /metrics'])(
    'exempts by exact method and path only: %s needs the token',
    (route) => {
      expect(() => check(route)).toThrow('missing X-Access-Token header');
      expect(() => check(route, 'wrong')).toThrow('invalid access token');
      expect(() => check(route, 'secret')).not.toThrow();
    },
  );
});
