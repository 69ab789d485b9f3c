import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type AgentInit, controlPaths } from '@skerry/contract/agent-control';

export interface BareAgent {
  /** Where it serves files and processes. */
  readonly url: string;
  readonly accessToken: string;
  /** Ends it and removes all that was made for it. */
  stop(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('../../../envd/src/main.ts', import.meta.url));

/**
 * Runs in a mount namespace of its own; the argument is a folder whose parts take the place of the host's. The disk holds as
 * many attributes of a file as that of a sandbox does; what the host's holds differs.
 */
const SCRIPT = `set -e
mount --bind "$0/passwd" /etc/passwd
mount --bind "$0/group" /etc/group
mount --bind "$0/home" /home
truncate -s 256M "$0/disk"
mkfs.ext4 -q -b 4096 -O ea_inode "$0/disk"
mount -o loop "$0/disk" /tmp
chmod 1777 /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
exec "$@"`;

/**
 * Starts an agent as a process of this host. /tmp, /home, /dev/shm and the accounts are its own, and nothing else: a test must not
 * write elsewhere. There is no edge, no platform and no limit. Needs root. Rejects when it does not listen within 30 s.
 */
export const startBareAgent = async (): Promise<BareAgent> => {
  // Not below /tmp, which is another one for the agent.
  const root = await mkdtemp(join('/var/tmp', 'bare-agent-'));
  const socketDir = join(root, 'run');
  for (const name of ['run', 'home', 'home/user']) await mkdir(join(root, name));
  await chmod(root, 0o755);
  await chown(join(root, 'home/user'), 1000, 1000);
  const accounts = 'root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n';
  await writeFile(join(root, 'passwd'), accounts);
  await writeFile(join(root, 'group'), 'root:x:0:\nuser:x:1000:\n');

  const child = spawn('unshare', ['-m', 'sh', '-c', SCRIPT, root, process.execPath, PROGRAM], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, ENVD_SOCKET_DIR: socketDir, ENVD_PORT: '0' },
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
    await rm(root, { recursive: true, force: true });
  };
  try {
    const port = await waitForPort(join(socketDir, 'envd.log'));
    const accessToken = 'bare-token';
    await initialize(join(socketDir, 'control.sock'), {
      sandboxId: 'bare',
      templateId: 'bare',
      envVars: {},
      accessToken,
      timestamp: new Date().toISOString(),
      defaultUser: 'user',
    });
    return { url: `http://127.0.0.1:${port}`, accessToken, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const READY_MS = 30_000;

const waitForPort = async (logPath: string): Promise<number> => {
  for (const until = Date.now() + READY_MS; Date.now() < until; await sleep(20)) {
    const log = await readFile(logPath, 'utf8').catch(() => '');
    const port = /"message":"listening","port":(\d+)/.exec(log)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error('the agent does not listen');
};

const initialize = async (socketPath: string, init: AgentInit): Promise<void> => {
  const call = request({ socketPath, method: 'POST', path: controlPaths.init });
  call.end(JSON.stringify(init));
  const [answer] = (await once(call, 'response')) as [{ statusCode?: number; resume(): void }];
  answer.resume();
  if (answer.statusCode !== 204) throw new Error(`the agent answered ${answer.statusCode} to /init`);
};
