import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { Command, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { defaultDataFolder, type ServerAddress } from '../data-folder.ts';
import { createLog } from '../log.ts';
import { parseCount } from './parse-count.ts';
import { parseMebibytes } from './parse-mebibytes.ts';
import { parsePort } from './parse-port.ts';

interface UpFlags {
  host: string;
  port: number;
  data: string;
  images?: string;
  baseImage?: string;
  domain?: string;
  warmMin: number;
  warmMax?: number;
  maxSandboxes: number;
  baseMemory?: number;
  memory: boolean;
  criu?: string;
  isolation: IsolationLevel;
  maxHelperFaults: number;
  requireProtocolVersion: boolean;
  secureByDefault: boolean;
  sharedHost: string[];
  json?: boolean;
}

/** `skerry up`: serves in the foreground until SIGINT or SIGTERM, or until its helper has died too often; sandboxes outlive it. */
export function upCommand(): Command {
  return new Command('up')
    .description('start the service in the foreground; stops on Ctrl-C and leaves sandboxes running')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on, 0 for a free one', parsePort, 4000)
    .option('--data <dir>', 'folder that holds everything', defaultDataFolder())
    .option('--images <dir>', 'folder of base images, may be shared (default: in the data folder)')
    .option('--base-image <reference>', 'OCI image to make the base template from')
    .option('--domain <domain>', 'public domain of the sandboxes, with its port')
    .option(
      '--warm-min <count>',
      'sandboxes of the base template that are always started ahead',
      parseCount,
      0,
    )
    .option('--warm-max <count>', 'the most that are started ahead when many are asked for', parseCount)
    .option(
      '--max-sandboxes <count>',
      'the most that live at the same time, paused ones not counted',
      parseCount,
      100,
    )
    .addOption(
      new Option('--isolation <level>', 'what stands between a sandbox and the kernel of this host')
        .choices(isolationLevels)
        .default('container'),
    )
    .option(
      '--base-memory <MiB>',
      'memory of a sandbox of the base template, fixed by the first start in a data folder (default: 1024)',
      parseMebibytes,
    )
    .option('--no-memory', 'keep only the files of a paused sandbox, and do not fetch CRIU')
    .option('--criu <path>', 'use this CRIU, 4.2 or newer, to keep memory, and fetch none')
    .option(
      '--max-helper-faults <count>',
      'how many times the helper may die within a minute, or in a row as it starts, before the service ends with status 1, 0 for any number',
      parseCount,
      5,
    )
    .option(
      '--no-require-protocol-version',
      'take Connect calls without the header Connect-Protocol-Version, as some other servers do',
    )
    .option(
      '--no-secure-by-default',
      'let POST /sandboxes make sandboxes without an access token unless it says "secure": true',
    )
    .option(
      '--shared-host <name>',
      'host name on which the headers E2b-Sandbox-Id and E2b-Sandbox-Port choose the sandbox; may be repeated',
      (name: string, names: string[]) => [...names, name.toLowerCase()],
      [] as string[],
    )
    .option('--json', 'print one line of JSON when ready, and nothing else, on stdout')
    .action(async (flags: UpFlags) => {
      // The servers are most of this program, and no other command needs them.
      const { refuseHost } = await import('../refuse-host.ts');
      refuseHost();
      const { enterGround } = await import('../ground.ts');
      await enterGround();
      const stopping = new AbortController();
      const stopped = new Promise<void>((resolve) => {
        stopping.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      for (const signal of ['SIGINT', 'SIGHUP'] as const) process.once(signal, () => stopping.abort());
      // "skerry down" may tell a server that is stopping already, which is to go on with that.
      process.on('SIGTERM', () => stopping.abort());

      const images = flags.images ?? process.env.SKERRY_IMAGES_DIR;
      const { startServer } = await import('../up.ts');
      const server = await startServer({
        host: flags.host,
        port: flags.port,
        dataDir: flags.data,
        ...(images ? { imagesDir: images } : {}),
        ...(flags.baseImage ? { baseImage: flags.baseImage } : {}),
        ...(flags.domain ? { domain: flags.domain } : {}),
        warm: parseWarm(flags),
        maxSandboxes: flags.maxSandboxes,
        ...(flags.baseMemory && { baseMemoryMb: flags.baseMemory }),
        keepsMemory: flags.memory,
        ...(flags.criu ? { criuProgram: flags.criu } : {}),
        isolation: flags.isolation,
        maxHelperFaults: flags.maxHelperFaults,
        requireProtocolVersion: flags.requireProtocolVersion,
        secureByDefault: flags.secureByDefault,
        sharedHosts: flags.sharedHost,
        log: createLog({ write: (line) => process.stderr.write(line) }),
        onProgress: (message) => process.stderr.write(`${message}\n`),
        signal: stopping.signal,
      });
      process.stdout.write(flags.json ? `${JSON.stringify(server.address)}\n` : welcome(server.address));
      const failure = await Promise.race([stopped, server.failed]);
      await server.close();
      if (failure) throw failure;
    });
}

/** Throws when the least is above the most. */
function parseWarm({ warmMin: min, warmMax: max = min }: UpFlags): { min: number; max: number } {
  if (min > max) throw new CliError(`--warm-min ${min} is more than --warm-max ${max}`);
  return { min, max };
}

/** What a person reads when the service is up, ready to paste. */
function welcome({ apiUrl, sandboxUrl, domain, apiKey }: ServerAddress): string {
  return `skerry is ready

  API        ${apiUrl}
  key        ${apiKey}
  sandboxes  http://{port}-{id}.${domain}

In another terminal:

  export SKERRY_API_URL=${apiUrl} SKERRY_DOMAIN=${domain} SKERRY_API_KEY=${apiKey}
  skerry sandbox create
  skerry sandbox exec ID -- python3 -c 'print("hello")'

For a program that uses the e2b package:

  export E2B_API_URL=${apiUrl} E2B_SANDBOX_URL=${sandboxUrl} E2B_API_KEY=${apiKey}

Ctrl-C stops serving; sandboxes run on until they expire or "skerry down" ends them.
`;
}
