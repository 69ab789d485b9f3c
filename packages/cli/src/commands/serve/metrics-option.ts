import type { Command } from 'commander';
import { parseAddress } from '../parse-node.ts';
import { OPTION_GROUPS } from './option-groups.ts';

/** The flag of `withMetricsOption`. */
export interface MetricsFlag {
  metricsListen?: { host: string; port: number };
}

/** Adds the flag of a command that can serve metrics. */
export const withMetricsOption = (command: Command): Command =>
  command
    .optionsGroup(OPTION_GROUPS.observability)
    .option(
      '--metrics-listen <host:port>',
      'serve metrics for Prometheus at /metrics of that address, without a key (default: none)',
      parseAddress,
    );
