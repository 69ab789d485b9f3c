import { resolve } from 'node:path';
import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { type BaseContents, baseContents } from '@skerry/images/base-contents';
import type { ImageRule } from '@skerry/images/image-map';
import { Command, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { dataFolderDefault, defaultDataFolder } from '../data-folder.ts';
import { createLog, type LogLevel, logLevels } from '../log/log.ts';
import { parseCount } from './parse-count.ts';
import { parseDuration } from './parse-duration.ts';
import { parseImageRules } from './parse-image-rule.ts';
import { parseMebibytes } from './parse-mebibytes.ts';
import { parsePort } from './parse-port.ts';
import { parseEndpoint, parseRegistry } from './parse-registry.ts';
import { createProgressLine } from './progress-line.ts';
import { findNpm } from './up/find-npm.ts';
import { toInvocation } from './up/invocation.ts';
import { toWelcome } from './up/welcome.ts';

interface UpFlags {
  host: string;
  port: number;
  data: string;
  images?: string;
  database?: string;
  databaseFile?: string;
  base: BaseContents;
  baseImage?: string;
  domain?: string;
  warmMin: number;
  warmMax?: number;
  maxSandboxes: number;
  baseMemory?: number;
  buildCache: number;
  buildTimeout?: number;
  memory: boolean;
  criu?: string;
  isolation: IsolationLevel;
  maxHelperFaults: number;
  requireProtocolVersion: boolean;
  secureByDefault: boolean;
  sharedHost: string[];
  registry: string[];
  imageMap: ImageRule[];
  ecrEndpoint?: string;
  maxContexts: number;
  logLevel: LogLevel;
  json?: boolean;
}

const DEFAULT_BUILD_SECONDS = 3_600;

/**
 * `skerry up`: serves in the foreground until SIGINT or SIGTERM, or until its helper has died too often; sandboxes
 * keep running.
 */
export function upCommand(): Command {
  return new Command('up')
    .description('start the service in the foreground; stops on Ctrl-C and leaves sandboxes running')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on, 0 for a free one', parsePort, 4000)
    .addOption(
      new Option('--data <dir>', 'folder for all data').default(defaultDataFolder(), dataFolderDefault),
    )
    .addOption(
      new Option(
        '--database <url>',
        'PostgreSQL database for the state, without a password (default: a file in the data folder)',
      ).conflicts('databaseFile'),
    )
    .option('--database-file <path>', 'file with the URL of that database, which only its owner may read')
    .option('--images <dir>', 'folder of base images, may be shared (default: in the data folder)')
    .addOption(
      new Option('--base <contents>', 'what the base template contains: the tools that agents expect, or few')
        .choices(baseContents)
        .default('full')
        .env('SKERRY_BASE'),
    )
    .option('--base-image <reference>', 'OCI image for the base template, to which what it lacks is added')
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
    .option('--domain <domain>', 'public domain of the sandboxes, with its port')
    .option(
      '--warm-min <count>',
      'sandboxes of the base template that are always kept started in advance',
      parseCount,
      0,
    )
    .option('--warm-max <count>', 'maximum number started in advance when the demand is high', parseCount)
    .option('--max-sandboxes <count>', 'concurrency limit, without paused sandboxes', parseCount, 100)
    .addOption(
      new Option('--isolation <level>', 'how a sandbox is separated from the kernel of this host')
        .choices(isolationLevels)
        .default('container'),
    )
    .option(
      '--base-memory <MiB>',
      'memory of a sandbox of the base template, fixed by the first start in a data folder (default: 1024)',
      parseMebibytes,
    )
    .option(
      '--build-cache <MiB>',
      'space for the results of steps of builds and the layers of images, beside the templates; 0 keeps none',
      parseCount,
      10_240,
    )
    .option('--build-timeout <time>', 'a build that takes longer fails (default: 1h)', parseDuration)
    .option('--no-memory', 'keep only the files of a paused sandbox, and do not download CRIU')
    .option('--criu <path>', 'use this CRIU, 4.2 or newer, for checkpoints, and do not download one')
    .option(
      '--max-helper-faults <count>',
      'how often the helper may die within a minute, or in a row at its start, before the service exits with status 1; 0 for no limit',
      parseCount,
      5,
    )
    .option(
      '--no-require-protocol-version',
      'accept Connect calls without the header Connect-Protocol-Version, as some other servers do',
    )
    .option(
      '--no-secure-by-default',
      'POST /sandboxes creates sandboxes without an access token unless the body has "secure": true',
    )
    .option(
      '--shared-host <name>',
      'host name on which the headers E2b-Sandbox-Id and E2b-Sandbox-Port choose the sandbox; may be repeated',
      (name: string, names: string[]) => [...names, name.toLowerCase()],
      [] as string[],
    )
    .addOption(
      new Option(
        '--log-level <level>',
        'lowest level of the log on stderr; debug adds a line for each request',
      )
        .choices(logLevels)
        .default('info'),
    )
    .option(
      '--json',
      'print one line of JSON when ready, and nothing else, on stdout; the default unless stdout is a terminal',
    )
    .action(async (flags: UpFlags) => {
      // The servers are most of this program, and no other command needs them.
      const { parseDatabase, readDatabaseFile } = await import('../database/database.ts');
      const { refuseHost } = await import('../refuse-host.ts');
      refuseHost();
      const { enterRootlessNamespace } = await import('../rootless.ts');
      await enterRootlessNamespace();
      const stopping = new AbortController();
      const stopped = new Promise<void>((resolve) => {
        stopping.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      for (const signal of ['SIGINT', 'SIGHUP'] as const) process.once(signal, () => stopping.abort());
      // "skerry down" may signal a server that is already stopping; it must complete the stop.
      process.on('SIGTERM', () => stopping.abort());

      const databaseUrl = flags.databaseFile
        ? readDatabaseFile(flags.databaseFile)
        : flags.database && parseDatabase(flags.database);
      const images = flags.images ?? process.env.SKERRY_IMAGES_DIR;
      using progress = createProgressLine(process.stderr);
      const { startServer } = await import('../up.ts');
      const server = await startServer({
        host: flags.host,
        port: flags.port,
        dataDir: flags.data,
        ...(images ? { imagesDir: images } : {}),
        ...(databaseUrl ? { databaseUrl } : {}),
        base: flags.base,
        npm: findNpm(process.env),
        ...(flags.baseImage ? { baseImage: flags.baseImage } : {}),
        ...(flags.domain ? { domain: flags.domain } : {}),
        warm: parseWarm(flags),
        maxSandboxes: flags.maxSandboxes,
        ...(flags.baseMemory && { baseMemoryMb: flags.baseMemory }),
        buildCacheMb: flags.buildCache,
        buildTimeoutMs: (flags.buildTimeout ?? DEFAULT_BUILD_SECONDS) * 1_000,
        keepsMemory: flags.memory,
        ...(flags.criu ? { criuProgram: flags.criu } : {}),
        isolation: flags.isolation,
        maxHelperFaults: flags.maxHelperFaults,
        requireProtocolVersion: flags.requireProtocolVersion,
        secureByDefault: flags.secureByDefault,
        sharedHosts: flags.sharedHost,
        allowedRegistries: flags.registry,
        imageMap: flags.imageMap,
        ecrEndpoint: flags.ecrEndpoint,
        maxContextMb: flags.maxContexts,
        helperEnvironment: toHelperEnvironment(process.env),
        log: createLog({ write: (line) => progress.write(line), level: flags.logLevel }),
        logsAccess: flags.logLevel === 'debug',
        onProgress: (step) => progress.show(step),
        signal: stopping.signal,
      });
      progress[Symbol.dispose]();
      const { address } = server;
      const welcome = {
        address,
        invocation: toInvocation(process.argv, process.env),
        dataDir: flags.data === defaultDataFolder() ? undefined : resolve(flags.data),
      };
      const isForPerson = process.stdout.isTTY && !flags.json;
      process.stdout.write(isForPerson ? toWelcome(welcome) : `${JSON.stringify(address)}\n`);
      const failure = await Promise.race([stopped, server.failed]);
      await server.close();
      if (failure) throw failure;
    });
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

/** Throws when the least is above the most. */
function parseWarm({ warmMin: min, warmMax: max = min }: UpFlags): { min: number; max: number } {
  if (min > max) throw new CliError(`--warm-min ${min} is more than --warm-max ${max}`);
  return { min, max };
}
