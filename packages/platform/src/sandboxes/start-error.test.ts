import { toErrorBody } from '@skerry/contract/error';
import { RuntimeError, RuntimeLostError } from '@skerry/runtime';
import { describe, expect, it } from 'vitest';
import { StartFailedError } from '../agent-commands/start-commands.ts';
import { toStartError } from './start-error.ts';

describe('toStartError', () => {
  const cases = [
    ['a full host', new RuntimeError('exhausted', 'slots: 3 of 3'), 503, 'sandbox_capacity_unavailable'],
    [
      'an agent that did not start',
      new RuntimeError('unavailable', '/srv/x'),
      504,
      'sandbox_placement_timeout',
    ],
    ['an aborted wait', AbortSignal.abort().reason, 504, 'sandbox_placement_timeout'],
    ['anything else', new RuntimeError('internal', 'mount /srv/x: EPERM'), 500, 'sandbox_create_failed'],
  ] as const;
  for (const [what, cause, code, reason] of cases) {
    it(`answers ${code} to ${what}, and hides details of the host`, () => {
      const error = toStartError('make the sandbox', cause);
      expect(toErrorBody(error)).toMatchObject({ code, error_code: reason });
      expect(error.message).not.toMatch(/srv|slots|mount/);
      expect(error.cause).toBe(cause);
      // Only the end of another sandbox helps, and its time is unknown.
      expect(error.headers).toEqual({});
    });
  }

  it('answers 503 with Retry-After when the runtime is lost', () => {
    const error = toStartError(
      'make the sandbox',
      new RuntimeLostError('the connection to the runtime ended'),
    );
    expect(error).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
  });

  it('answers 501 when this server lacks a feature, and names the feature', () => {
    const cause = new RuntimeError('unsupported', 'sandbox x is of level gvisor, and this host starts none');
    const error = toStartError('resume', cause);
    expect(toErrorBody(error)).toMatchObject({ code: 501 });
    expect(error.message).toContain('level gvisor');
    expect(error.cause).toBe(cause);
  });

  it('answers 500 with what the owner of the template needs when its start command fails', () => {
    const cause = new StartFailedError("failed to run start command 'serve': exit status 7");
    const error = toStartError('run the start command', cause);
    expect(toErrorBody(error)).toMatchObject({ code: 500, error_code: 'sandbox_create_failed' });
    expect(error.message).toContain(cause.message);
  });

  it('names the step that failed', () => {
    expect(toStartError('set up the agent', new Error('x')).message).toContain('set up the agent');
  });
});
