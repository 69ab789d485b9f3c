import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Service {
  apiUrl: string;
  sandboxUrl: string;
  domain: string;
  apiKey: string;
}

/** Ends a service with every sandbox and removes all traces of it from this machine, also of one that is starting. */
export async function endService({ root, dataDir }: { root: string; dataDir: string }): Promise<void> {
  const cli = join(root, 'packages/cli/src/main.ts');
  // In a session of its own: Ctrl-C does not end what ends the rest.
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  const down = spawn(process.execPath, [cli, 'down', '--data', dataDir], {
    stdio: [...stdio],
    detached: true,
  });
  const [code] = (await once(down, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`skerry down ended with ${code}`);
}

/** Starts `skerry up` from this checkout on a free port and waits for its line of JSON. */
export async function startService(options: {
  root: string;
  dataDir: string;
  imagesDir: string;
  /** Called with each progress message of the start. */
  onProgress: (message: string) => void;
}): Promise<Service> {
  const cli = [join(options.root, 'packages/cli/src/main.ts')];
  const folders = ['--data', options.dataDir, '--images', options.imagesDir];
  const argv = ['up', '--port', '0', ...folders, '--base', 'minimal', '--json'];
  const server = spawn(process.execPath, [...cli, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  const log: string[] = [];
  createInterface({ input: server.stderr }).on('line', (line) => {
    log.push(line);
    // The server's own log is JSON; messages for people are not.
    if (!line.startsWith('{') || /"level":"(warn|error)"/.test(line)) options.onProgress(line);
  });
  const ended = once(server, 'exit').then(() => {
    throw new Error(`skerry ended before it was ready\n${log.slice(-20).join('\n')}`);
  });
  const [line] = (await Promise.race([once(createInterface(server.stdout), 'line'), ended])) as [string];
  ended.catch(() => undefined); // Later it ends because `down` stops it.
  return JSON.parse(line) as Service;
}
