import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AcmeError } from './acme-error.ts';
import type { Attempts, Validity } from './certificate-folder.ts';
import { keepCertificate } from './keep-certificate.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let kept: Validity | undefined;
let attempts: Attempts | undefined;
let validFrom: number;
let isDiskFull: boolean;
let obtained: number[];
let failures: Error[];
let stop: AbortController;
const warn = vi.fn();
beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  [kept, attempts, obtained, failures, stop] = [undefined, undefined, [], [], new AbortController()];
  [validFrom, isDiskFull] = [0, false];
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
      attemptsFile: '/nowhere/boxes.test.attempts.json',
      readAttempts: () => attempts,
      writeAttempts: (written) => {
        if (isDiskFull) throw new Error('ENOSPC');
        attempts = written;
      },
      write: () => {
        attempts = undefined;
        kept = { from: Date.now() + validFrom, until: Date.now() + validFrom + 90 * DAY };
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

  it('is tried again after five minutes each time when no pause can be noted, as on a full disk', async () => {
    kept = { from: -80 * DAY, until: 10 * DAY };
    isDiskFull = true;
    await keep();
    await vi.advanceTimersByTimeAsync(60 * MINUTE);
    expect([obtained.length, warn.mock.calls.length]).toEqual([0, 13]);
  });

  it('waits as long as the authority asks for', async () => {
    kept = { from: -80 * DAY, until: 10 * DAY };
    failures = [new AcmeError('too many', { retryAfterMs: 2 * DAY })];
    await keep();
    await vi.advanceTimersByTimeAsync(3 * DAY);
    expect(obtained).toEqual([0, 2 * DAY]);
  });

  it('that is late in its life when it arrives is not replaced at once', async () => {
    validFrom = -88 * DAY;
    await keep();
    await vi.advanceTimersByTimeAsync(60 * MINUTE);
    expect(obtained).toHaveLength(13);
  });

  it('keeps the server from starting when the first one cannot be obtained', async () => {
    failures = [new AcmeError('no record')];
    await expect(keep()).rejects.toThrow('no record');
  });

  it('is not asked for again by a server that starts before the pause after the last failure is over', async () => {
    failures = Array.from({ length: 9 }, () => new AcmeError('no record'));
    const starts = { asked: 0, refused: 0 };
    for (let second = 0; second < 3_600; second += 1) {
      await keep().catch(({ message, hint }: AcmeError) => {
        if (message === 'no record') starts.asked += 1;
        else if (/is not asked again before 19/.test(message) && hint?.includes('attempts.json') === true)
          starts.refused += 1;
      });
      vi.setSystemTime(Date.now() + 1_000);
    }
    expect(starts).toEqual({ asked: 4, refused: 3_596 });
    expect(obtained.map((at) => at / MINUTE)).toEqual([0, 5, 15, 35]);
  });

  it('counts as asked for when the process ends before the answer', async () => {
    failures = [new Error('killed')];
    const before = keep();
    expect(attempts).toEqual({ count: 1, nextAt: 5 * MINUTE });
    await expect(before).rejects.toThrow('killed');
  });

  it('is renewed after a start when the pause of the process before is over, and not sooner', async () => {
    kept = { from: -80 * DAY, until: 10 * DAY };
    attempts = { count: 3, nextAt: 30 * MINUTE };
    await keep();
    await vi.advanceTimersByTimeAsync(DAY);
    expect(obtained).toEqual([30 * MINUTE]);
    expect(attempts).toBeUndefined();
  });

  it('is left alone after the end', async () => {
    await keep();
    stop.abort();
    await vi.advanceTimersByTimeAsync(90 * DAY);
    expect(obtained).toEqual([0]);
  });
});
