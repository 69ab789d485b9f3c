import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AcmeError } from './acme-error.ts';
import type { Validity } from './certificate-folder.ts';
import { keepCertificate } from './keep-certificate.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let kept: Validity | undefined;
let obtained: number[];
let failures: Error[];
let stop: AbortController;
const warn = vi.fn();
beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  [kept, obtained, failures, stop] = [undefined, [], [], new AbortController()];
  warn.mockClear();
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

const keep = (): Promise<void> =>
  keepCertificate({
    folder: {
      file: '/nowhere/boxes.test.pem',
      readAccountKey: () => {
        throw new Error('not used here');
      },
      readValidity: () => kept,
      write: () => {
        kept = { from: Date.now(), until: Date.now() + 90 * DAY };
      },
    },
    obtain: async () => {
      obtained.push(Date.now());
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return 'pem';
    },
    log: { warn, info() {}, debug() {}, error() {} } as never,
    signal: stop.signal,
  });

describe('a certificate that is kept', () => {
  it('is obtained when there is none, and again each time two thirds of its life are over', async () => {
    await keep();
    expect(obtained).toEqual([0]);
    await vi.advanceTimersByTimeAsync(59 * DAY);
    expect(obtained).toEqual([0]);
    await vi.advanceTimersByTimeAsync(62 * DAY);
    expect(obtained).toEqual([0, 60 * DAY, 120 * DAY]);
  });

  it('is not obtained again by a server that starts while it is young', async () => {
    kept = { from: -10 * DAY, until: 80 * DAY };
    await keep();
    await vi.advanceTimersByTimeAsync(49 * DAY);
    expect(obtained).toEqual([]);
    await vi.advanceTimersByTimeAsync(2 * DAY);
    expect(obtained).toEqual([50 * DAY]);
  });

  it('serves on when it cannot be renewed, which is tried again after pauses that grow up to half a day', async () => {
    kept = { from: -80 * DAY, until: 10 * DAY };
    failures = Array.from({ length: 10 }, () => new AcmeError('no'));
    await keep();
    await vi.advanceTimersByTimeAsync(3 * DAY);
    const pauses = obtained.slice(1).map((at, index) => Math.round((at - (obtained[index] ?? 0)) / MINUTE));
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 720, 720]);
    expect(warn).toHaveBeenCalledTimes(10);
    expect(warn.mock.calls[0]?.[0]).toBe('the certificate cannot be renewed');
  });

  it('waits as long as the authority asks for', async () => {
    kept = { from: -80 * DAY, until: 10 * DAY };
    failures = [new AcmeError('too many', { retryAfterMs: 2 * DAY })];
    await keep();
    await vi.advanceTimersByTimeAsync(3 * DAY);
    expect(obtained).toEqual([0, 2 * DAY]);
  });

  it('keeps the server from starting when the first one cannot be obtained', async () => {
    failures = [new AcmeError('no record')];
    await expect(keep()).rejects.toThrow('no record');
  });

  it('is left alone after the end', async () => {
    await keep();
    stop.abort();
    await vi.advanceTimersByTimeAsync(90 * DAY);
    expect(obtained).toEqual([0]);
  });
});
