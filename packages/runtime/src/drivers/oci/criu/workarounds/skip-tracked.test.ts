import { describe, expect, it } from 'vitest';
import { skipsTracked, withoutTracked } from './skip-tracked.ts';

/** struct nlmsghdr without its last half: 20 bytes, message of subsystem 1, a request that dumps. */
const request = (message: number): Buffer => Buffer.from([20, 0, 0, 0, message, 1, 1, 3]);
const around = (...parts: Buffer[]): Buffer => Buffer.concat([Buffer.from('before'), ...parts]);

describe('withoutTracked', () => {
  it('replaces the request for all connections by the one for those that are not confirmed', () => {
    const changed = withoutTracked(around(request(1)));
    expect(changed).toEqual(around(request(7)));
    expect([skipsTracked(around(request(1))), changed && skipsTracked(changed)]).toEqual([false, true]);
  });

  it('changes no program that contains the request twice or not at all', () => {
    for (const program of [around(), around(request(2)), around(request(1), request(1))])
      expect(withoutTracked(program)).toBeUndefined();
  });
});
