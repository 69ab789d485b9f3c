import { expect, it } from 'vitest';
import vectors from '../../../specs/vectors/signatures.json' with { type: 'json' };
import { createSignature } from './signature.ts';

it.each(vectors.signatures)(
  'signs: $title',
  async ({ path, operation, username, token, expiration, signature }) => {
    const input = { path, operation: operation as 'read' | 'write', user: username, accessToken: token };
    const expiresAt = expiration === null ? {} : { expiresAt: expiration };
    expect(await createSignature({ ...input, ...expiresAt })).toBe(signature);
  },
);
