import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import { isAlive } from '../sandboxes/visible-state.ts';
import type { MetricRow } from '../store/metric-rows.ts';
import type { SandboxRow } from '../store/rows.ts';
import { requireObserved } from './observed-sandbox.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';

type MetricRoute = 'GET /sandboxes/{sandboxID}/metrics' | 'GET /sandboxes/metrics';
type SandboxMetric = components['schemas']['SandboxMetric'];

const MIB = 2 ** 20;

const toSandboxMetric = (row: MetricRow, sandbox: SandboxRow): SandboxMetric => ({
  timestamp: new Date(row.at).toISOString(),
  timestampUnix: Math.floor(row.at / 1000),
  cpuCount: sandbox.cpuCount,
  cpuUsedPct: row.cpuUsedPct,
  memUsed: row.memoryBytes,
  memTotal: sandbox.memoryMb * MIB,
  memCache: row.cacheBytes,
  diskUsed: row.diskBytes,
  diskTotal: sandbox.diskMb * MIB,
});

/** The handlers that return the present and past use of sandboxes. */
export const createMetricHandlers = ({
  store,
  clock,
  observation,
}: Pick<HandlerContext, 'store' | 'clock' | 'observation'>): Pick<PlatformHandlers, MetricRoute> => ({
  'GET /sandboxes/{sandboxID}/metrics': async ({ params, query }) => {
    if (query.start !== undefined && query.end !== undefined && query.start > query.end) {
      throw invalid(`query.start must not be after query.end, got ${query.start} and ${query.end}`);
    }
    const sandbox = await requireObserved({ store, clock }, parseSandboxId(params));
    const from = Math.max((query.start ?? 0) * 1000, sandbox.createdAt);
    // Includes the whole of that second, because the query has whole seconds only.
    const to = query.end === undefined ? clock.now() : query.end * 1000 + 999;
    const rows = to < from ? [] : await observation.sampler.list(sandbox.id, { from, to });
    return { status: 200, body: rows.map((row) => toSandboxMetric(row, sandbox)) };
  },

  'GET /sandboxes/metrics': async ({ query, context: { scope } }) => {
    const sandboxes: Record<string, SandboxMetric> = {};
    for (const given of query.sandbox_ids) {
      const sandbox = await store.findOwnSandbox(parseSandboxId({ sandboxID: given }), scope);
      if (sandbox === undefined || !isAlive(sandbox.state)) continue;
      const row = await observation.sampler.latest(sandbox.id);
      if (row !== undefined) sandboxes[given] = toSandboxMetric(row, sandbox);
    }
    return { status: 200, body: { sandboxes } };
  },
});
