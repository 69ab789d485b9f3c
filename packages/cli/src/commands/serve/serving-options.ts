import type { ServingOptions } from '@skerry/server';
import { dataFolderDefault, defaultDataFolder } from '@skerry/server/data-folder';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseCount } from '../parse-count.ts';
import { parseDuration } from '../parse-duration.ts';
import { parseMebibytes } from '../parse-mebibytes.ts';
import { parsePort } from '../parse-port.ts';
import { OPTION_GROUPS } from './option-groups.ts';
import { type TlsFlags, toTlsOptions, withTlsOptions } from './tls-options.ts';

/** The flags of `withServingOptions`. */
export interface ServingFlags extends TlsFlags {
  host: string;
  port: number;
  database?: string;
  databaseFile?: string;
  domain?: string;
  maxSandboxes: number;
  baseMemory?: number;
  requireProtocolVersion: boolean;
  secureByDefault: boolean;
  sharedHost: string[];
  drainTimeout: number;
  accessLog?: string;
  otlpEndpoint?: string;
}

/** Adds the flags of a command that serves platform and edge, wherever its sandboxes are; `parseSandboxes` knows how many those may be. */
export const withServingOptions = (
  command: Command,
  { parseSandboxes = parseCount }: { parseSandboxes?: (text: string) => number } = {},
): Command =>
  withTlsOptions(
    command
      .optionsGroup(OPTION_GROUPS.network)
      .option('--host <host>', 'address to listen on', '127.0.0.1')
      .option('--port <port>', 'port to listen on, 0 for a free one', parsePort, 4000)
      .option('--domain <domain>', 'public domain of the sandboxes, with its port')
      .option(
        '--shared-host <name>',
        'host name on which the headers E2b-Sandbox-Id and E2b-Sandbox-Port choose the sandbox; may be repeated',
        (name: string, names: string[]) => [...names, name.toLowerCase()],
        [] as string[],
      )
      .option(
        '--no-require-protocol-version',
        'accept Connect calls without the header Connect-Protocol-Version, as some other servers do',
      )
      .addOption(
        new Option(
          '--drain-timeout <time>',
          'how long requests, streams and builds in progress may go on after SIGTERM; 0 ends them at once',
        )
          .argParser((text) => (text === '0' ? 0 : parseDuration(text)))
          .default(30, '30s'),
      ),
  )
    .optionsGroup(OPTION_GROUPS.sandboxes)
    .option('--max-sandboxes <count>', 'concurrency limit, without paused sandboxes', parseSandboxes, 100)
    .option(
      '--base-memory <MiB>',
      'memory of a sandbox of the base template, fixed by the first start in a data folder (default: 1024)',
      parseMebibytes,
    )
    .option(
      '--no-secure-by-default',
      'POST /sandboxes creates sandboxes without an access token unless the body has "secure": true',
    )
    .optionsGroup(OPTION_GROUPS.storage)
    .addOption(
      new Option(
        '--database <url>',
        'PostgreSQL database for the state, without a password (default: a file in the data folder)',
      ).conflicts('databaseFile'),
    )
    .option('--database-file <path>', 'file with the URL of that database, which only its owner may read')
    .optionsGroup(OPTION_GROUPS.observability)
    .option(
      '--access-log <file>',
      'write a line of JSON for each request to that file, or to stdout if it is - (default: none)',
    )
    .option(
      '--otlp-endpoint <url>',
      'send traces to that OTLP receiver by HTTP (default: OTEL_EXPORTER_OTLP_ENDPOINT, else none)',
      parseEndpoint,
    );

/** What those flags mean. Loads the code of databases, and throws as that does. */
export async function toServingOptions(
  flags: ServingFlags,
): Promise<Omit<ServingOptions, 'log' | 'logsAccess'>> {
  const { parseDatabase, readDatabaseFile } = await import('@skerry/server/database');
  const databaseUrl = flags.databaseFile
    ? readDatabaseFile(flags.databaseFile)
    : flags.database && parseDatabase(flags.database);
  return {
    host: flags.host,
    port: flags.port,
    ...toTlsOptions(flags),
    ...(databaseUrl ? { databaseUrl } : {}),
    ...(flags.domain ? { domain: flags.domain } : {}),
    maxSandboxes: flags.maxSandboxes,
    ...(flags.baseMemory && { baseMemoryMb: flags.baseMemory }),
    requireProtocolVersion: flags.requireProtocolVersion,
    secureByDefault: flags.secureByDefault,
    sharedHosts: flags.sharedHost,
    drainMs: flags.drainTimeout * 1_000,
    accessLog: flags.accessLog,
    traces: toTraces(flags, process.env),
  };
}

function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text;
  throw new InvalidArgumentError('It must be a URL with http or https, such as http://127.0.0.1:4318.');
}

/** The variables of OpenTelemetry, as the exporter reads them, say the same as the flag. */
function toTraces({ otlpEndpoint }: ServingFlags, env: NodeJS.ProcessEnv): ServingOptions['traces'] {
  const isNamed = env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const isOff = env.OTEL_SDK_DISABLED === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  return otlpEndpoint || (isNamed && !isOff) ? { endpoint: otlpEndpoint } : undefined;
}

/** Adds the flag of the data folder. */
export const withDataOption = (command: Command): Command =>
  command
    .optionsGroup(OPTION_GROUPS.storage)
    .addOption(
      new Option('--data <dir>', 'folder for all data').default(defaultDataFolder(), dataFolderDefault),
    );
