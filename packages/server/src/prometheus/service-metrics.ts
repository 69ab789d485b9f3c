import type { Census, Telemetry } from '@skerry/platform';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from './open-metrics.ts';

/** What a server reports into its metrics. */
export interface ServiceMetrics {
  readonly telemetry: Telemetry;
  onDatabaseError(): void;
  /** Reads the rest there at each scrape, from now on. */
  watch(sources: { census(): Promise<Census>; openStreams(): number }): void;
}

/** From a sandbox that was started in advance to a resume with much memory. */
const DURATION_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const MIB = 2 ** 20;

/** Adds what every server has, wherever its sandboxes are. */
export function addServiceMetrics({ registry, onScrape }: Metrics): ServiceMetrics {
  const registers = [registry];
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name, help, labelNames, registers });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name, help, labelNames, registers });

  const durations = new Histogram({
    name: 'skerry_operation_duration_seconds',
    help: 'Time of the operations on sandboxes that have succeeded.',
    labelNames: ['operation'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const failures = counter(
    'skerry_operation_failures_total',
    'Operations on sandboxes that have failed, also those that were refused.',
    ['operation', 'reason'],
  );
  const warmClaims = counter(
    'skerry_warm_claims_total',
    'Creates that could have used a sandbox that was started in advance: hit when there was one.',
    ['result'],
  );
  const forwards = counter(
    'skerry_forwarded_calls_total',
    'Calls made at another server, which owns what they are for.',
  );
  const databaseErrors = counter(
    'skerry_database_errors_total',
    'Statements of the database that have failed, and connections to it that could not be had.',
  );
  const streams = gauge(
    'skerry_edge_open_streams',
    'Requests and upgraded connections to sandboxes that are open.',
  );
  const sandboxes = gauge('skerry_sandboxes', 'Sandboxes for which this server acts, that have not ended.', [
    'node',
    'state',
    'isolation',
  ]);
  const missingCopies = gauge(
    'skerry_unstored',
    'Paused sandboxes and snapshots that the blob store does not have yet.',
  );
  const nodes = addNodeGauges(gauge);

  return {
    telemetry: {
      onOperation: ({ operation, durationMs, failure }) => {
        if (failure === undefined) durations.observe({ operation }, durationMs / 1_000);
        else failures.inc({ operation, reason: failure });
      },
      onWarmClaim: (isHit) => warmClaims.inc({ result: isHit ? 'hit' : 'miss' }),
      onForward: () => forwards.inc(),
    },
    onDatabaseError: () => databaseErrors.inc(),
    watch: ({ census, openStreams }) =>
      onScrape(async () => {
        streams.set(openStreams());
        // What cannot be read is left out, and does not look like the present state.
        missingCopies.remove();
        sandboxes.reset();
        nodes.reset();
        const found = await census();
        for (const { node, state, isolation, count } of found.sandboxes)
          sandboxes.set({ state, isolation, ...(node !== null && { node }) }, count);
        if (found.missingCopies !== undefined) missingCopies.set(found.missingCopies);
        nodes.set(found.nodes);
      }),
  };
}

/** What the server knows of its nodes, and of those of other servers with the same database. */
const addNodeGauges = (
  gauge: <L extends string>(name: string, help: string, labelNames: readonly L[]) => Gauge<L>,
) => {
  const states = gauge('skerry_node_state', 'The state of a node, as 1.', ['node', 'state']);
  const of = (name: string, help: string) => gauge(name, help, ['node']);
  const own = of('skerry_node_owned', 'Whether this server acts for the node.');
  const cordoned = of('skerry_node_cordoned', 'Whether the node takes no new sandboxes.');
  const epoch = of('skerry_node_epoch', 'How often a server has become the owner of the node.');
  const leaseAge = of('skerry_node_lease_age_seconds', 'Since the owner has renewed its lease of the node.');
  const places = of('skerry_node_places', 'Sandboxes that may run on the node at a time.');
  const placed = of('skerry_node_placed', 'Sandboxes that have a place on the node.');
  const memory = of('skerry_node_memory_bytes', 'Memory of the node.');
  const reserved = of(
    'skerry_node_reserved_memory_bytes',
    'Limits of the sandboxes that have a place on the node.',
  );
  const all = [states, own, cordoned, epoch, leaseAge, places, placed, memory, reserved];
  return {
    reset: () => {
      for (const one of all) one.reset();
    },
    set: (views: Census['nodes']) => {
      for (const { name: node, ...view } of views) {
        states.set({ node, state: view.state }, 1);
        own.set({ node }, Number(view.isOwn));
        cordoned.set({ node }, Number(view.cordoned || view.unschedulable));
        epoch.set({ node }, view.epoch);
        if (view.owner) leaseAge.set({ node }, view.owner.leaseAgeMs / 1_000);
        if (view.room) places.set({ node }, view.room.sandboxes);
        if (view.room) memory.set({ node }, view.room.memoryMb * MIB);
        placed.set({ node }, view.load.placed);
        reserved.set({ node }, view.load.memoryMb * MIB);
      }
    },
  };
};
