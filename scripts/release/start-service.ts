import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { run } from './run.ts';

/** Where a service is, as the SDK and the command read it. */
export type ServiceVariables = Record<
  'SKERRY_API_URL' | 'SKERRY_API_KEY' | 'SKERRY_DOMAIN' | 'SKERRY_SANDBOX_URL',
  string
>;

export interface InstalledService {
  env: ServiceVariables;
  /** Ends it with its sandboxes, and waits. Rejects when `skerry down` fails. */
  down(): Promise<void>;
  /** Kills it when it still runs. */
  kill(): void;
}

const root = join(import.meta.dirname, '../..');

/** Base images of this checkout, which take a minute to make. */
export const ownImages = process.env.SKERRY_IMAGES_DIR ?? join(root, '.skerry/images');

/**
 * Starts a server with an installed `skerry`, over a data folder and a folder of base images, which it makes when there are none. Rejects
 * with what it logged when it ends instead.
 */
export async function startService(options: {
  /** Path of the installed program. */
  skerry: string;
  data: string;
  images: string;
  /** Variables for it beside those of this process. */
  env?: Record<string, string>;
}): Promise<InstalledService> {
  const { skerry, data, images, env = {} } = options;
  const flags = ['up', '--host', '127.0.0.1', '--port', '0', '--data', data, '--images', images, '--json'];
  const server = spawn(skerry, flags, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let log = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(server, 'exit').then(() => Promise.reject(new Error(`it ended\n${log}`)));
  ended.catch(() => undefined); // Later it ends because it is told to.
  const [line] = (await Promise.race([once(createInterface(server.stdout), 'line'), ended])) as [string];
  const address = JSON.parse(line) as Record<'apiUrl' | 'apiKey' | 'domain' | 'sandboxUrl', string>;
  const isRunning = (): boolean => server.exitCode === null && server.signalCode === null;
  return {
    env: {
      SKERRY_API_URL: address.apiUrl,
      SKERRY_API_KEY: address.apiKey,
      SKERRY_DOMAIN: address.domain,
      SKERRY_SANDBOX_URL: address.sandboxUrl,
    },
    async down() {
      run(skerry, ['down', '--data', data], { cwd: root, env });
      if (isRunning()) await once(server, 'exit');
    },
    kill() {
      if (isRunning()) server.kill('SIGKILL');
    },
  };
}
