import type { Command } from 'commander';
import { CliError } from './cli-error.ts';
import { defaultDataFolder, readServerAddress } from './data-folder.ts';
import { isLocked } from './data-lock.ts';

interface ConnectionFlags {
  apiUrl?: string;
  apiKey?: string;
  domain?: string;
  data: string;
}

export interface Connection {
  apiUrl: string;
  apiKey: string;
  domain?: string;
  sandboxUrl?: string;
}

/** Adds the flags that say which server a command talks to. */
export function withConnectionFlags(command: Command): Command {
  return command
    .option('--api-url <url>', 'base URL of the API (SKERRY_API_URL)')
    .option('--api-key <key>', 'API key (SKERRY_API_KEY)')
    .option('--domain <domain>', 'domain of the sandboxes (SKERRY_DOMAIN)')
    .option(
      '--data <dir>',
      'data folder of a server on this machine, used when no URL is given',
      defaultDataFolder(),
    );
}

/**
 * Flags, then the environment, then the server that runs on this machine from the data folder. That server's own key is
 * used unless one is given for skerry: `E2B_API_KEY` without a URL is meant for somebody else's service.
 * Throws when none of them gives both a URL and a key, and when the server of the data folder has ended.
 */
export function resolveConnection(flags: ConnectionFlags, env: NodeJS.ProcessEnv = process.env): Connection {
  const local = readServerAddress(flags.data);
  const apiUrl = flags.apiUrl || env.SKERRY_API_URL || env.E2B_API_URL;
  const ownKey = flags.apiKey || env.SKERRY_API_KEY;
  const apiKey = ownKey || env.E2B_API_KEY;
  const domain = flags.domain || env.SKERRY_DOMAIN || env.E2B_DOMAIN;
  if (apiUrl && apiKey)
    return {
      apiUrl,
      apiKey,
      ...(domain ? { domain } : {}),
      ...(local?.apiUrl === apiUrl ? { sandboxUrl: local.sandboxUrl } : {}),
    };
  if (local && !apiUrl) {
    // A server that was killed leaves its address behind.
    if (!isLocked(flags.data))
      throw new CliError(
        `no server is running for ${flags.data}, the last one was killed: start it with "skerry up", or give --api-url and --api-key`,
      );
    return { ...local, ...(ownKey ? { apiKey: ownKey } : {}) };
  }
  throw new CliError(
    apiUrl
      ? 'no API key: give --api-key or set SKERRY_API_KEY'
      : `no server: start one with "skerry up", or give --api-url and --api-key (looked in ${flags.data})`,
  );
}
