import type { Log } from '@skerry/platform';
import type { MeasuredHost } from './host-metrics.ts';
import type { Metrics, MetricsListen } from './open-metrics.ts';

/** Serves the metrics of a machine that makes sandboxes, as `openMetrics` does, which it loads: others do not need the library. */
export async function openHostMetrics(
  listen: MetricsListen,
  host: MeasuredHost,
  { log }: { log: Pick<Log, 'info' | 'warn'> },
): Promise<Metrics> {
  const [{ openMetrics }, { addHostMetrics }] = await Promise.all([
    import('./open-metrics.ts'),
    import('./host-metrics.ts'),
  ]);
  const metrics = await openMetrics(listen, log);
  addHostMetrics(metrics, host);
  return metrics;
}
