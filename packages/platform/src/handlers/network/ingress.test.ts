import { expect, it } from 'vitest';
import { newSandbox } from '../../store/suite/new-sandbox.ts';
import { toTrafficToken } from '../../tokens.ts';
import { toSandbox } from '../sandbox-replies.ts';
import { parseIngress } from './ingress.ts';
import { toNetworkFields } from './network-policy.ts';

it('reads whether ports are private, and refuses that where the agent answers to everyone', () => {
  expect(parseIngress({}, { secure: true })).toBeNull();
  expect(parseIngress({ allowPublicTraffic: true }, { secure: false })).toBeNull();
  const request = { allowPublicTraffic: false };
  expect(parseIngress(request, { secure: true })).toEqual({ isPrivate: true });
  expect(() => parseIngress(request, { secure: false })).toThrow(
    expect.objectContaining({
      status: 400,
      message: expect.stringContaining('body.network.allowPublicTraffic'),
    }),
  );
});

it('replies with the token of private ports alone, and says in the details that they are', () => {
  const context = { secret: 'secret', domain: null };
  const rowOf = (ingress: { isPrivate: boolean } | null) => ({
    ...newSandbox('i0', { ingress }),
    ...{
      node: null,
      state: 'running' as const,
      runId: 'r',
      startedAt: 1,
      timeToLiveMs: 1,
      networkPending: false,
    },
    ...{ pausedAt: null, pausedWith: null, endedAt: null, cause: null },
  });
  expect(toSandbox(rowOf(null), context).trafficAccessToken).toBeNull();
  expect(toSandbox(rowOf({ isPrivate: true }), context).trafficAccessToken).toBe(
    toTrafficToken('secret', 'i0'),
  );
  expect(toNetworkFields(rowOf(null))).toEqual({ allowInternetAccess: null });
  expect(toNetworkFields(rowOf({ isPrivate: true }))).toEqual({
    allowInternetAccess: null,
    network: { allowPublicTraffic: false },
  });
});

it.each(['internal.example', `localhost:\${PORT}`, `\${PORT}-x.example`, '127.0.0.1', '[::1]:80', 'a_b'])(
  'takes the mask %s',
  (maskRequestHost) => {
    expect(parseIngress({ maskRequestHost }, { secure: true })).toEqual({
      isPrivate: false,
      maskHost: maskRequestHost,
    });
  },
);

it.each([
  'b\u00fccher.example',
  'a b',
  'a\r\nX: y',
  'http://a',
  'a/b',
  'user@a',
  '',
  'a:',
  `a:\${HOST}`,
  'a:123456',
  'a'.repeat(256),
])('refuses the mask %j', (maskRequestHost) => {
  expect(() => parseIngress({ maskRequestHost }, { secure: true })).toThrow(
    expect.objectContaining({
      status: 400,
      message: expect.stringContaining('body.network.maskRequestHost'),
    }),
  );
});

it('takes ports that speak TLS, and refuses too many, one twice and that of the agent', () => {
  const many = Array.from({ length: 129 }, (_, index) => index + 1);
  expect(parseIngress({ httpsPorts: many.slice(1) }, { secure: true })?.httpsPorts).toHaveLength(128);
  for (const [httpsPorts, message] of [
    [many, 'body.network.httpsPorts must have at most 128'],
    [[443, 8443, 443], 'body.network.httpsPorts[2] repeats 443'],
    [[49_983], 'body.network.httpsPorts[0] must not be 49983'],
  ] as const)
    expect(() => parseIngress({ httpsPorts: [...httpsPorts] }, { secure: true })).toThrow(message);
});
