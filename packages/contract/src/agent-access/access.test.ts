import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../error.ts';
import { accessTokenOf, checkAccess, createHashVerifier, createTokenVerifier } from './access.ts';
import { hashToken } from './secret.ts';
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

const thrownBy = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('createSignature', () => {
  it.each(vectors.signatures)('signs as clients do: $title', ({ token, expiration, signature, ...input }) => {
    expect(createSignature({ ...input, accessToken: token, expiration: expiration?.toString() })).toBe(
      signature,
    );
  });
});

describe('checkAccess to /files with the token', () => {
  const decide = ({ method, token, header, query }: Vectors['requests'][number]): unknown =>
    checkAccess(
      { route: `${method} /files`, given: header ?? undefined, query: new URLSearchParams(query) },
      token === null ? undefined : createTokenVerifier(token, vectors.now * 1000),
    );

  it.each(vectors.requests)('decides by token, then signature: $title', (request) => {
    if (request.result === 'allowed') {
      expect(decide(request)).toBe(request.token === null || request.header !== null ? 'full' : 'signature');
      return;
    }
    const thrown = thrownBy(() => decide(request));
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject(request.result);
  });
});

describe('a signature', () => {
  const [signed] = vectors.requests;
  const { signature = '', ...rest } = signed?.query ?? {};
  const check = (query: URLSearchParams | Record<string, string>): unknown =>
    checkAccess(
      { route: 'GET /files', given: undefined, query: new URLSearchParams(query) },
      createTokenVerifier(signed?.token ?? '', vectors.now * 1000),
    );

  it('has one spelling', () => {
    expect(check({ ...rest, signature })).toBe('signature');
    const text = signature.slice('v1_'.length);
    // The last character holds two bits that no decoder reads.
    const last = String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1);
    const others = [
      `${signature}=`,
      `${signature.slice(0, -1)}${last}`,
      signature.replaceAll('/', '_').replaceAll('+', '-'),
      signature.toLowerCase(),
      `V1_${text}`,
      text,
      ` ${signature}`,
      `${signature} `,
      `${signature}\n`,
      `${text.slice(0, 8)}\n${text.slice(8)}`,
      `${signature},${signature}`,
    ];
    for (const other of others)
      expect(
        thrownBy(() => check({ ...rest, signature: other })),
        other,
      ).toMatchObject({
        code: 'unauthenticated',
      });
  });

  it.each([
    ['path', 'other.txt'],
    ['username', 'root'],
    ['signature', 'v1_wrong'],
  ])('does not count where the query has %s twice', (name, value) => {
    for (const twice of [value, { ...rest, signature }[name] ?? '']) {
      const query = new URLSearchParams({ ...rest, signature });
      query.append(name, twice);
      expect(thrownBy(() => check(query))).toMatchObject({ code: 'invalid_argument' });
    }
  });

  it.each(['01795168860', '+1795168860', '1795168860 ', '1795168860.0', '1e9', '-0', ''])(
    'is refused with the expiration "%s"',
    (expiration) => {
      expect(thrownBy(() => check({ ...rest, signature, signature_expiration: expiration }))).toMatchObject({
        code: 'invalid_argument',
      });
    },
  );
});

describe('checkAccess to /files with the hash of the token', () => {
  const [signed] = vectors.requests;
  const check = (given: string | undefined, query: Record<string, string>): unknown =>
    checkAccess(
      { route: 'GET /files', given, query: new URLSearchParams(query) },
      createHashVerifier(hashToken(signed?.token ?? '')),
    );

  it('accepts the token and not its hash', () => {
    expect(check(signed?.token ?? '', {})).toBe('full');
    for (const given of ['', 'wrong', hashToken(signed?.token ?? '')])
      expect(() => check(given, {})).toThrow('invalid access token');
  });

  it('refuses a good signature with its own reason, and a missing one as the edge does', () => {
    expect(signed?.result).toBe('allowed');
    expect(thrownBy(() => check(undefined, signed?.query ?? {}))).toMatchObject({
      code: 'unauthenticated',
      message: 'a signature is valid at the address of the sandbox only; send X-Access-Token here',
    });
    expect(thrownBy(() => check(undefined, {}))).toMatchObject({
      code: 'unauthenticated',
      message: 'missing signature query parameter',
    });
  });
});

describe('checkAccess to other routes', () => {
  const verifiers = [createTokenVerifier('secret', 0), createHashVerifier(hashToken('secret'))];
  const check = (route: string, given?: string): unknown[] =>
    verifiers.map((verifier) => checkAccess({ route, given, query: new URLSearchParams() }, verifier));
  const refusals = (route: string, given?: string): unknown[] =>
    verifiers.map((verifier) =>
      thrownBy(() => checkAccess({ route, given, query: new URLSearchParams() }, verifier)),
    );

  it('leaves GET /health open', () => {
    expect([...check('GET /health'), ...check('GET /health', 'wrong')]).toEqual(Array(4).fill('full'));
  });

  it('leaves everything open without a token', () => {
    for (const given of [undefined, '', 'any'])
      expect(checkAccess({ route: 'GET /envs', given, query: new URLSearchParams() }, undefined)).toBe(
        'full',
      );
  });

  it.each(['POST /health', 'GET /health/', 'GET /files/', 'DELETE /files', 'POST /init', 'GET /metrics'])(
    'exempts by exact method and path only: %s needs the token',
    (route) => {
      const code = 'unauthenticated';
      const missing = { code, message: 'missing X-Access-Token header' };
      expect(refusals(route)).toMatchObject([missing, missing]);
      const wrong = { code, message: 'invalid access token' };
      expect(refusals(route, 'wrong')).toMatchObject([wrong, wrong]);
      expect(check(route, 'secret')).toEqual(['full', 'full']);
    },
  );
});

describe('the access token of a request', () => {
  it('is the value of its header, and the first of several', () => {
    expect(accessTokenOf({})).toBeUndefined();
    expect(accessTokenOf({ 'x-access-token': 'secret' })).toBe('secret');
    expect(accessTokenOf({ 'x-access-token': ['secret', 'other'] })).toBe('secret');
  });
});
