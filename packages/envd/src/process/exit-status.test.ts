import { describe, expect, it } from 'vitest';
import { toExitStatus } from './exit-status.ts';

describe('toExitStatus', () => {
  it.each([
    [0, null, { exitCode: 0, exited: true, status: 'exit status 0' }],
    [255, null, { exitCode: 255, exited: true, status: 'exit status 255', error: 'exit status 255' }],
    [null, 'SIGKILL', { exitCode: -1, exited: false, status: 'signal: killed', error: 'signal: killed' }],
    [
      null,
      'SIGTERM',
      { exitCode: -1, exited: false, status: 'signal: terminated', error: 'signal: terminated' },
    ],
    [
      null,
      35,
      {
        exitCode: -1,
        exited: false,
        status: 'signal: real-time signal 1',
        error: 'signal: real-time signal 1',
      },
    ],
    [null, 32, { exitCode: -1, exited: false, status: 'signal: signal 32', error: 'signal: signal 32' }],
  ])('words code %s and signal %s as clients compare them', (code, signal, expected) => {
    expect(toExitStatus(code, signal)).toEqual(expected);
  });
});
