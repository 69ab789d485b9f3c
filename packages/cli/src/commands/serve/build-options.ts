import type { ImageRule } from '@skerry/images/image-map';
import type { BuildOptions } from '@skerry/server';
import type { Command } from 'commander';
import { parseCount } from '../parse-count.ts';
import { parseDuration } from '../parse-duration.ts';
import { parseImageRules } from '../parse-image-rule.ts';
import { parseEndpoint, parseRegistry } from '../parse-registry.ts';
import { OPTION_GROUPS } from './option-groups.ts';

/** The flags of `withBuildOptions`. */
export interface BuildFlags {
  buildCache: number;
  buildTimeout?: number;
  registry: string[];
  imageMap: ImageRule[];
  ecrEndpoint?: string;
  maxContexts: number;
}

const DEFAULT_BUILD_SECONDS = 3_600;

/** Adds the flags of a command whose server builds templates. */
export const withBuildOptions = (command: Command): Command =>
  command
    .optionsGroup(OPTION_GROUPS.builds)
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
      '--build-cache <MiB>',
      'space for the results of steps of builds and the layers of images, beside the templates; 0 keeps none',
      parseCount,
      10_240,
    )
    .option('--build-timeout <time>', 'a build that takes longer fails (default: 1h)', parseDuration);

/** What those flags mean. */
export const toBuildOptions = (flags: BuildFlags): BuildOptions => ({
  buildCacheMb: flags.buildCache,
  buildTimeoutMs: (flags.buildTimeout ?? DEFAULT_BUILD_SECONDS) * 1_000,
  allowedRegistries: flags.registry,
  imageMap: flags.imageMap,
  ecrEndpoint: flags.ecrEndpoint,
  maxContextMb: flags.maxContexts,
});
