import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { type BaseContents, baseContents } from '@skerry/images/base-contents';
import type { HostOptions } from '@skerry/server';
import { type Command, Option } from 'commander';
import { parseCount } from '../parse-count.ts';
import { findNpm } from './find-npm.ts';
import { OPTION_GROUPS } from './option-groups.ts';

/** The flags of `withHostOptions`. */
export interface HostFlags {
  images?: string;
  base: BaseContents;
  baseImage?: string;
  isolation: IsolationLevel;
  isolationMin?: IsolationLevel;
  memory: boolean;
  criu?: string;
  maxHelperFaults: number;
}

/** Adds the flags of a command that makes sandboxes on this machine. */
export const withHostOptions = (command: Command): Command =>
  command
    .optionsGroup(OPTION_GROUPS.storage)
    .option('--images <dir>', 'folder of base images, may be shared (default: in the data folder)')
    .optionsGroup(OPTION_GROUPS.sandboxes)
    .addOption(
      new Option('--base <contents>', 'what the base template contains: the tools that agents expect, or few')
        .choices(baseContents)
        .default('full')
        .env('SKERRY_BASE'),
    )
    .option('--base-image <reference>', 'OCI image for the base template, to which what it lacks is added')
    .addOption(
      new Option(
        '--isolation <level>',
        'how a sandbox is separated from the kernel of this host, where its creator asks for no level',
      )
        .choices(isolationLevels)
        .default('container'),
    )
    .addOption(
      new Option(
        '--isolation-min <level>',
        'level below which no sandbox starts, whatever its creator asks for (default: that of --isolation)',
      ).choices(isolationLevels),
    )
    .option('--no-memory', 'keep only the files of a paused sandbox, and do not download CRIU')
    .option('--criu <path>', 'use this CRIU, 4.2 or newer, for checkpoints, and do not download one')
    .option(
      '--max-helper-faults <count>',
      'how often the helper may die within a minute, or in a row at its start, before the service exits with status 1; 0 for no limit',
      parseCount,
      5,
    );

/** What those flags and the environment mean. */
export function toHostOptions(
  flags: HostFlags,
): Pick<
  HostOptions,
  | 'imagesDir'
  | 'base'
  | 'npm'
  | 'baseImage'
  | 'isolation'
  | 'minimumIsolation'
  | 'keepsMemory'
  | 'criuProgram'
  | 'maxHelperFaults'
  | 'helperEnvironment'
> {
  const images = flags.images ?? process.env.SKERRY_IMAGES_DIR;
  return {
    ...(images ? { imagesDir: images } : {}),
    base: flags.base,
    npm: findNpm(process.env),
    ...(flags.baseImage ? { baseImage: flags.baseImage } : {}),
    isolation: flags.isolation,
    minimumIsolation: flags.isolationMin ?? flags.isolation,
    keepsMemory: flags.memory,
    ...(flags.criu ? { criuProgram: flags.criu } : {}),
    maxHelperFaults: flags.maxHelperFaults,
    helperEnvironment: toHelperEnvironment(process.env),
  };
}

/** What Node reads at its start, and leads it to registries: proxies and certificates of the host. */
const networkVariables = [
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'NODE_USE_ENV_PROXY', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_DIR', 'SSL_CERT_FILE'],
];
const toHelperEnvironment = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    networkVariables.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
