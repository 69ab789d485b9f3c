import { createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import { createPlatformClient, type PlatformClient } from '@skerry/platform-client';
import type { ConnectionOptions } from '@skerry/sdk';
import { knownLogs } from './known-logs.ts';

/** The one line of `skerry up --json`. */
export interface StackAddress {
  readonly apiUrl: string;
  readonly sandboxUrl: string;
  readonly domain: string;
  readonly apiKey: string;
}

export interface CreateOptions {
  /** Default: `base`. */
  templateID?: string;
  timeoutSeconds?: number;
  envVars?: Record<string, string>;
  metadata?: Record<string, string>;
  autoPause?: boolean;
  autoPauseMemory?: boolean;
  autoResume?: { enabled: boolean };
  network?: { allowPublicTraffic: boolean };
}

/** A sandbox and the client of its agent. */
export interface StackSandbox {
  readonly sandboxId: string;
  readonly accessToken: string;
  readonly agent: EnvdClient;
  /** The client of its agent whose calls act as that user. */
  agentOf(user: string): EnvdClient;
  kill(): Promise<void>;
}

/** What is needed to work with a skerry that runs. */
export interface StackClient {
  readonly address: StackAddress;
  readonly dataDir: string;
  readonly api: PlatformClient;
  /** Options of the SDK that reach this server. */
  readonly connection: ConnectionOptions;
  /** Creates a sandbox from the base template; rejects, with what the server logged last, unless the answer is 201. */
  createSandbox(options?: CreateOptions): Promise<StackSandbox>;
}

/** The client of a server whose log is printed when a test fails. */
export function createStackClient(options: {
  address: StackAddress;
  dataDir: string;
  readLog: () => Promise<string>;
}): StackClient {
  const { address, dataDir, readLog } = options;
  knownLogs.add(readLog);
  const api = createPlatformClient({ baseUrl: address.apiUrl, apiKey: address.apiKey });
  return {
    address,
    dataDir,
    api,
    connection: { ...address },
    createSandbox: async ({ timeoutSeconds = 120, ...rest } = {}) => {
      const body = { templateID: 'base', timeout: timeoutSeconds, ...rest };
      const { data, error, response } = await api.POST('/v2/sandboxes', { body });
      if (data === undefined) {
        const log = (await readLog()).slice(-4000);
        throw new Error(`create answered ${response.status}: ${JSON.stringify(error)}\n${log}`);
      }
      const { sandboxID: sandboxId, envdAccessToken: accessToken = '' } = data;
      const access = { baseUrl: address.sandboxUrl, accessToken, headers: toRouting(sandboxId) };
      return {
        sandboxId,
        accessToken,
        agent: createEnvdClient(access),
        agentOf: (user) => createEnvdClient({ ...access, user }),
        async kill() {
          await api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID: sandboxId } } });
        },
      };
    },
  };
}

/** Names a sandbox's agent to the server's own address. */
export const toRouting = (sandboxId: string): Record<string, string> => ({
  'E2b-Sandbox-Id': sandboxId,
  'E2b-Sandbox-Port': '49983',
});
