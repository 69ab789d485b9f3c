import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { signPortLink } from './port-link.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000_000_000 }));
afterEach(() => void vi.useRealTimers());
const link = { sandboxId: 'i0', port: 8000, trafficToken: 'token' };

it('signs the host and the time, an hour from now by default', async () => {
  // printf port-link:8000-i0:1000003600 | openssl dgst -sha256 -hmac token
  expect(await signPortLink(link)).toBe(
    'v1.1000003600.93b7841a40b696e69b4f68ddf5b84af4b191b8d7ad4935ddc77839b2a4fcf472',
  );
  // printf port-link:8000-i0:1000000002 | openssl dgst -sha256 -hmac token
  expect(await signPortLink({ ...link, expiresInMs: 1500 })).toBe(
    'v1.1000000002.33d8ecd884ec701a6c14149334f52af0bf04709eaad2598318724ddb7dda3413',
  );
});

it.each([0, -1, Number.NaN, 86_400_001])('refuses a time of %d milliseconds', async (expiresInMs) => {
  await expect(signPortLink({ ...link, expiresInMs })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('expiresInMs'),
  });
});
