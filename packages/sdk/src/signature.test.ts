import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createSignature } from './signature.ts';

interface Vector {
  title: string;
  path: string;
  operation: 'read' | 'write';
  username: string;
  token: string;
  expiration: number | null;
  signature: string;
}

const file = new URL('../../../specs/vectors/signatures.json', import.meta.url);
const { signatures } = JSON.parse(readFileSync(file, 'utf8')) as { signatures: Vector[] };

describe('createSignature', () => {
  it.each(signatures)('signs $title', async ({ path, operation, username, token, expiration, signature }) => {
    const input = { path, operation, user: username, accessToken: token };
    expect(await createSignature(expiration === null ? input : { ...input, expiresAt: expiration })).toBe(
      signature,
    );
  });
});
