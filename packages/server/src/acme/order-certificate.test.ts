import { expect, it } from 'vitest';
import { orderCertificate } from './order-certificate.ts';

it.each([0, -1_000])(
  'asks no more than once a second when the authority says "after %i ms"',
  async (retryAfterMs) => {
    let reads = 0;
    const stop = AbortSignal.timeout(1_500);
    const answers: Record<string, object> = {
      new: { authorizations: [], finalize: 'finalize' },
      finalize: {},
      order: { status: 'processing' },
    };
    const ordered = orderCertificate('boxes.test', {
      requests: {
        directory: { newNonce: 'nonce', newAccount: 'account', newOrder: 'new' },
        toKeyAuthorization: (token) => token,
        register: async () => undefined,
        post: async (_action, url) => {
          if (url === 'order') reads += 1;
          return { location: 'order', retryAfterMs, text: '', json: () => answers[url] as never };
        },
      },
      records: { add: async () => undefined, remove: async () => undefined },
      waitMs: 0,
      log: { warn: () => undefined },
      signal: AbortSignal.any([stop]),
    });
    await expect(ordered).rejects.toThrow('aborted');
    expect(reads).toBe(2);
  },
);
