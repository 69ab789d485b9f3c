import { existsSync } from 'node:fs';
import {
  dataFolderDefault,
  defaultDataFolder,
  ROOT_DATA_FOLDER,
  readServerAddress,
} from '@skerry/server/data-folder';
import { UserError } from '@skerry/server/user-error';
import type { Command } from 'commander';
import { contextsFile, findContext, readContexts } from './contexts.ts';

interface ConnectionFlags {
  apiUrl?: string;
  apiKey?: string;
  domain?: string;
  context?: string;
  data?: string;
}

export interface Connection {
  apiUrl: string;
  apiKey: string;
  domain?: string;
  sandboxUrl?: string;
}

/** Adds the flags that select the server of a command. */
export function withConnectionFlags(command: Command): Command {
  return command
    .option('--api-url <url>', 'base URL of the API (SKERRY_API_URL)')
    .option('--api-key <key>', 'API key (SKERRY_API_KEY)')
    .option('--domain <domain>', 'domain of the sandboxes (SKERRY_DOMAIN)')
    .option('--context <name>', 'server that "skerry context add" has kept (SKERRY_CONTEXT)')
    .option(
      '--data <dir>',
      `data folder of a server on this machine, used when no URL is given (default: ${dataFolderDefault})`,
    );
}

/**
 * The server that flags name, then the environment, then the context, then the server that runs on this machine from
 * the data folder. That server's own key is used unless one is given for skerry: `E2B_API_KEY` without a URL is for
 * another service. Rejects with `UserError` when none of them has both a URL and a key, for an unknown context, and when
 * the server of the data folder has ended.
 */
export async function resolveConnection(
  flags: ConnectionFlags,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Connection> {
  const context = resolveContext(flags, env);
  if (context) return context;
  const data = flags.data ?? defaultDataFolder();
  const local = readServerAddress(data);
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
    // Loaded here only: a command for another machine also works where the native code of the lock does not load.
    const { isLocked } = await import('@skerry/server/data-lock');
    // A server that was killed leaves its address behind.
    if (!isLocked(data))
      throw new UserError(
        `no server is running for ${data}, the last one was killed: start it with "skerry up", or pass --api-url and --api-key`,
      );
    return { ...local, ...(ownKey ? { apiKey: ownKey } : {}) };
  }
  throw new UserError(
    apiUrl
      ? 'no API key: pass --api-key or set SKERRY_API_KEY'
      : `no server: start one with "skerry up", or pass --api-url and --api-key (looked in ${data}${hasRootServer(data) ? '; one of root may run: eval "$(sudo skerry env)"' : ''})`,
  );
}

/** A context that is named goes before the environment; one that is only current goes after it. */
function resolveContext(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Connection | undefined {
  if (flags.apiUrl) return undefined;
  const named = flags.context || env.SKERRY_CONTEXT;
  if (named === undefined && (env.SKERRY_API_URL || env.E2B_API_URL || flags.data)) return undefined;
  const contexts = readContexts(contextsFile(env));
  const name = named ?? contexts.current;
  if (name === undefined) return undefined;
  const { apiUrl, apiKey, domain } = findContext(contexts, name);
  return {
    apiUrl,
    apiKey: flags.apiKey || apiKey,
    ...(flags.domain || domain ? { domain: (flags.domain || domain) as string } : {}),
  };
}

/** Whether root has had a server on this machine whose folder this user cannot read. */
const hasRootServer = (data: string): boolean => data !== ROOT_DATA_FOLDER && existsSync(ROOT_DATA_FOLDER);
