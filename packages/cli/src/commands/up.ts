import { join, resolve } from 'node:path';
import { defaultDataFolder } from '@skerry/server/data-folder';
import { Command } from 'commander';
import { type BuildFlags, toBuildOptions, withBuildOptions } from './serve/build-options.ts';
import { type ForegroundFlags, runInForeground, withForegroundOptions } from './serve/foreground.ts';
import { type HostFlags, toHostOptions, withHostOptions } from './serve/host-options.ts';
import { type MetricsFlag, withMetricsOption } from './serve/metrics-option.ts';
import {
  type ServingFlags,
  toServingOptions,
  withDataOption,
  withServingOptions,
} from './serve/serving-options.ts';
import { toWarmCounts, type WarmFlags, withWarmOptions } from './serve/warm-options.ts';
import { toInvocation } from './up/invocation.ts';
import { toWelcome } from './up/welcome.ts';

interface UpFlags extends ServingFlags, HostFlags, BuildFlags, ForegroundFlags, WarmFlags, MetricsFlag {
  data: string;
}

/**
 * `skerry up`: serves in the foreground until SIGINT or SIGTERM, or until its helper has died too often; sandboxes
 * keep running.
 */
export function upCommand(): Command {
  const command = new Command('up').description(
    'start the service in the foreground; stops on Ctrl-C and leaves sandboxes running',
  );
  withBuildOptions(withHostOptions(withServingOptions(withDataOption(command))));
  withWarmOptions(command);
  return withForegroundOptions(withMetricsOption(command)).action(async (flags: UpFlags) => {
    // The servers are most of this program, and no other command needs them.
    const { refuseHost } = await import('@skerry/server/host');
    refuseHost();
    const { enterRootlessNamespace } = await import('@skerry/server/host');
    await enterRootlessNamespace();
    await runInForeground(flags, async (foreground) => {
      const { startServer } = await import('@skerry/server/start-server');
      const { describeIsolation, findLevelState } = await import('./up/describe-isolation.ts');
      const { tryLevels } = await import('./up/try-levels.ts');
      const hostOptions = toHostOptions(flags);
      const server = await startServer({
        ...(await toServingOptions(flags)),
        ...hostOptions,
        ...foreground,
        dataDir: flags.data,
        warm: toWarmCounts(flags),
        ...toBuildOptions(flags),
        metricsListen: flags.metricsListen,
      });
      const { address } = server;
      const programsDir = hostOptions.imagesDir ?? join(flags.data, 'images');
      const { lines: isolation, untried } = await describeIsolation(flags.isolation, (other) =>
        findLevelState(other, programsDir),
      );
      const invocation = toInvocation(process.argv, process.env);
      const { command } = invocation;
      const welcome = {
        address,
        isolation,
        invocation,
        dataDir: flags.data === defaultDataFolder() ? undefined : resolve(flags.data),
      };
      return {
        ...server,
        ready: { json: address, text: toWelcome(welcome) },
        learn: (signal: AbortSignal) =>
          tryLevels(untried, { dataDir: flags.data, programsDir, command, signal }),
      };
    });
  });
}
