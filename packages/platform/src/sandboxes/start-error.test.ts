import { toErrorBody } from '@skerry/contract/error';
import { RuntimeError, RuntimeLostError } from '@skerry/runtime';
import { describe, expect, it } from 'vitest';
import { toStartError } from './start-error.ts';

describe('toStartError', () => {
  const cases = [
    ['a full host', new RuntimeError('exhausted', 'slots: 3 of 3'), 503, 'sandbox_capacity_unavailable'],
    [
      'an agent that did not come up',
      new RuntimeError('unavailable', '/srv/x'),
      504,
      'sandbox_placement_timeout',
    ],
    ['an aborted wait', AbortSignal.abort().reason, 504, 'sandbox_placement_timeout'],
    ['anything else', new RuntimeError('internal', 'mount /srv/x: EPERM'), 500, 'sandbox_create_failed'],
  ] as const;
  for (const [what, cause, code, reason] of cases) {
    it(`answers ${code} to ${what}, and shows nothing of the host`, () => {
      const error = toStartError('make the sandbox', cause);
      expect(toErrorBody(error)).toMatchObject({ code, error_code: reason });
      expect(error.message).not.toMatch(/srv|slots|mount/);
      expect(error.cause).toBe(cause);
      // Only the end of another sandbox helps, and nobody knows when that is.
      expect(error.headers).toEqual({});
    });
  }

  it('answers 503 when the runtime is lost, and says when to try again', () => {
    const error = toStartError(
      'make the sandbox',
      new RuntimeLostError('the connection to the runtime ended'),
    );
    expect(error).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
  });

  it('answers 501 to what this server cannot do for it, and names that', () => {
    const cause = new RuntimeError('unsupported', 'sandbox x is of level gvisor, and this host starts none');
    const error = toStartError('resume', cause);
    expect(toErrorBody(error)).toMatchObject({ code: 501 });
    expect(error.message).toContain('level gvisor');
    expect(error.cause).toBe(cause);
  });

  it('says which step failed', () => {
    expect(toStartError('set up the agent', new Error('x')).message).toContain('set up the agent');
  });
});
