import { expect, it } from 'vitest';
import { parseEdgeAccess, toEdgeAccess } from './edge-access.ts';

const nonce = 'ab'.repeat(32);

it('is understood by the agent of the same run, and says what opened the route', () => {
  for (const access of ['full', 'signature'] as const)
    expect(parseEdgeAccess(toEdgeAccess(access, nonce), nonce)).toBe(access);
});

it.each([
  ['of another run', `full ${'cd'.repeat(32)}`],
  ['without a nonce', 'full'],
  ['with an empty nonce', 'full '],
  ['that is cut', `full ${nonce.slice(1)}`],
  ['that is longer', `full ${nonce}${nonce}`],
  ['of an unknown kind', `root ${nonce}`],
  ['that is the nonce alone', nonce],
  ['with something behind it', `full ${nonce} x`],
  ['that was sent twice', `full ${nonce}, full ${nonce}`],
  ['that is a list', [`full ${nonce}`]],
])('is not accepted when it is one %s', (_what, value) => {
  expect(parseEdgeAccess(value, nonce)).toBeUndefined();
});

it('is not accepted by an agent that has no nonce', () => {
  for (const value of ['full ', 'full undefined', `full ${nonce}`])
    expect(parseEdgeAccess(value, undefined)).toBeUndefined();
});
