import { resolve } from 'node:path';
import type { ImageRule } from '@skerry/images/image-map';
import { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { defaultDataFolder } from '../data-folder.ts';
import { parseCount } from './parse-count.ts';
import { parseDuration } from './parse-duration.ts';
import { parseImageRules } from './parse-image-rule.ts';
import { parseEndpoint, parseRegistry } from './parse-registry.ts';
import { type ForegroundFlags, runInForeground, withForegroundOptions } from './serve/foreground.ts';
import { type HostFlags, toHostOptions, withHostOptions } from './serve/host-options.ts';
import {
  type ServingFlags,
  toServingOptions,
  withDataOption,
  withServingOptions,
} from './serve/serving-options.ts';
import { toInvocation } from './up/invocation.ts';
import { toWelcome } from './up/welcome.ts';

interface UpFlags extends ServingFlags, HostFlags, ForegroundFlags {
  data: string;
  warmMin: number;
  warmMax?: number;
  buildCache: number;
  buildTimeout?: number;
  registry: string[];
  imageMap: ImageRule[];
  ecrEndpoint?: string;
  maxContexts: number;
}

const DEFAULT_BUILD_SECONDS = 3_600;

/**
 * `skerry up`: serves in the foreground until SIGINT or SIGTERM, or until its helper has died too often; sandboxes
 * keep running.
 */
export function upCommand(): Command {
  const command = new Command('up').description(
    'start the service in the foreground; stops on Ctrl-C and leaves sandboxes running',
  );
  withHostOptions(withServingOptions(withDataOption(command)))
    .option(
      '--registry <host[:port]>',
      'registry that builds of templates may use although its address is not public; may be repeated',
      (registry: string, registries: string[]) => [...registries, parseRegistry(registry)],
      [] as string[],
    )
    .option(
      '--image-map <name=target>',
      'what builds take for an image: template:NAME, or an image of a mirror; with /* at the end of both for all below; may be repeated',
      parseImageRules,
      [] as ImageRule[],
    )
    .option(
      '--ecr-endpoint <url>',
      'API of Amazon ECR for builds with credentials of type aws, such as that of a VPC endpoint (default: that of the region)',
      parseEndpoint,
    )
    .option(
      '--max-contexts <MiB>',
      'what the files that builds copy may take together in the data folder',
      parseCount,
      8192,
    )
    .option(
      '--warm-min <count>',
      'sandboxes of the base template that are always kept started in advance',
      parseCount,
      0,
    )
    .option('--warm-max <count>', 'maximum number started in advance when the demand is high', parseCount)
    .option(
      '--build-cache <MiB>',
      'space for the results of steps of builds and the layers of images, beside the templates; 0 keeps none',
      parseCount,
      10_240,
    )
    .option('--build-timeout <time>', 'a build that takes longer fails (default: 1h)', parseDuration);
  return withForegroundOptions(command).action(async (flags: UpFlags) => {
    // The servers are most of this program, and no other command needs them.
    const { refuseHost } = await import('../refuse-host.ts');
    refuseHost();
    const { enterRootlessNamespace } = await import('../rootless.ts');
    await enterRootlessNamespace();
    await runInForeground(flags, async (foreground) => {
      const { startServer } = await import('../up.ts');
      const server = await startServer({
        ...(await toServingOptions(flags)),
        ...toHostOptions(flags),
        ...foreground,
        dataDir: flags.data,
        warm: parseWarm(flags),
        buildCacheMb: flags.buildCache,
        buildTimeoutMs: (flags.buildTimeout ?? DEFAULT_BUILD_SECONDS) * 1_000,
        allowedRegistries: flags.registry,
        imageMap: flags.imageMap,
        ecrEndpoint: flags.ecrEndpoint,
        maxContextMb: flags.maxContexts,
      });
      const { address } = server;
      const welcome = {
        address,
        invocation: toInvocation(process.argv, process.env),
        dataDir: flags.data === defaultDataFolder() ? undefined : resolve(flags.data),
      };
      return { ...server, ready: { json: address, text: toWelcome(welcome) } };
    });
  });
}

/** Throws when the least is above the most. */
function parseWarm({ warmMin: min, warmMax: max = min }: UpFlags): { min: number; max: number } {
  if (min > max) throw new CliError(`--warm-min ${min} is more than --warm-max ${max}`);
  return { min, max };
}
