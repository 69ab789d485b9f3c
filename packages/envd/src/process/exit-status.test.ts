import { describe, expect, it } from 'vitest';
import { toExitStatus } from './exit-status.ts';

describe('toExitStatus', () => {
  it.each([
    [0, null, { exitCode: 0, exited: true, status: 'exit status 0' }],
    [255, null, { exitCode: 255, exited: true, status: 'exit status 255', error: 'exit status 255' }],
  ])('words code %s and signal %s as clients compare them', (code, signal, expected) => {
    expect(toExitStatus(code, signal)).toEqual(expected);
  });

  it.each([
    ['SIGKILL' as const, 9, 'signal: killed'],
    ['SIGTERM' as const, 15, 'signal: terminated'],
    [35, 35, 'signal: real-time signal 1'],
    [32, 32, 'signal: signal 32'],
  ])('words the end by %s as clients compare it, and adds the number', (signal, skerrySignal, status) => {
    const expected = { exitCode: -1, exited: false, status, error: status, skerrySignal };
    expect(toExitStatus(null, signal)).toEqual(expected);
  });
});
