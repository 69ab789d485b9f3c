import { ApiError } from '@skerry/contract/error';
import { expect, it } from 'vitest';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { reportOperation } from './report-operation.ts';
import { noTelemetry, type Telemetry } from './telemetry.ts';

it('reports the time and the reason of a failure, and not what another server does or what there was nothing to do for', async () => {
  const manual = createManualClock();
  const { clock } = manual;
  const seen: Parameters<Telemetry['onOperation']>[0][] = [];
  const telemetry = { ...noTelemetry, onOperation: (done: (typeof seen)[number]) => void seen.push(done) };
  const run = (work: () => Promise<unknown>) =>
    reportOperation('pause', work, { telemetry, clock }).catch((error: unknown) => error);
  expect(
    await run(async () => {
      manual.advance(30);
      return 'done';
    }),
  ).toBe('done');
  const refused = new ApiError('unavailable', 'no', { reason: 'sandbox_capacity_unavailable' });
  for (const error of [refused, new ApiError('conflict', 'no'), new Error('no'), new ElsewhereError('a:1')])
    expect(await run(() => Promise.reject(error))).toBe(error);
  await run(async () => undefined);
  expect(seen).toEqual([
    { operation: 'pause', durationMs: 30, failure: undefined },
    { operation: 'pause', durationMs: 0, failure: 'sandbox_capacity_unavailable' },
    { operation: 'pause', durationMs: 0, failure: 'conflict' },
    { operation: 'pause', durationMs: 0, failure: 'internal' },
  ]);
});
