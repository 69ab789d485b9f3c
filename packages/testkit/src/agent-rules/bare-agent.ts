import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { initializeAgent } from '../stack/initialize-agent.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type AgentConnection, type AgentSettings, createKeys, toInitKeys } from './agent.ts';
import { createAgentProcess } from './agent-process.ts';
import { type EdgeFront, startEdgeFront } from './edge-front.ts';

const CHECKOUT = fileURLToPath(new URL('../../../..', import.meta.url));
/** The agent as it is published and as sandboxes run it: from its sources it takes eight times the processor time to start. */
const PROGRAM = join(dirname(skerryProgram), 'envd/main.js');

const SANDBOX_ID = 'bare';

/** Not /root, which is the host's. */
const ROOT_HOME = '/home/root';

/**
 * Runs in a mount namespace of its own; the argument is a folder whose parts take the place of the host's. Its disk is
 * made as that of a sandbox is: how many attributes a file can have depends on that. A checkout below /home or /tmp stays visible.
 */
const SCRIPT = `set -e
mount --bind "$0" "$0"
mount --bind "$0/passwd" /etc/passwd
mount --bind "$0/group" /etc/group
truncate -s 512M "$0/image"
mkfs.ext4 -q -b 4096 -m 0 -N 65536 -O ea_inode "$0/image"
mount -o loop "$0/image" "$0/disk"
mkdir -m 1777 "$0/disk/tmp"
mkdir -p "$0/disk/home/user" "$0/disk${ROOT_HOME}"
chown 1000:1000 "$0/disk/home/user"
for program in "$CHECKOUT" "\${1%/*}"; do
  case "$program" in
    /home/*|/tmp/*) mkdir -p "$0/disk$program"; mount --rbind "$program" "$0/disk$program" ;;
  esac
done
mount --rbind "$0/disk/home" /home
mount --rbind "$0/disk/tmp" /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -o remount,bind,ro /
unset CHECKOUT
exec "$@"`;

/**
 * Starts an agent as a process of this host. /tmp, /home, /dev/shm and the accounts are its own, and nothing else: the
 * rest of the root file system is read-only to it. There is no platform and no limit, and no edge unless the settings ask for one. Needs root. Rejects when it does not listen within 30 s.
 */
export const startBareAgent = async ({
  envVars = {},
  accessToken = randomUUID(),
  defaultWorkdir,
  hasEdge = false,
}: AgentSettings): Promise<AgentConnection> => {
  // Not below /tmp, which is another one for the agent.
  const root = await mkdtemp(join('/var/tmp', 'bare-agent-'));
  const socketDir = join(root, 'run');
  for (const name of ['run', 'disk']) await mkdir(join(root, name));
  await chmod(root, 0o755);
  await chmod(socketDir, 0o700);
  const accounts = `root:x:0:0:root:${ROOT_HOME}:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n`;
  await writeFile(join(root, 'passwd'), accounts);
  await writeFile(join(root, 'group'), 'root:x:0:\nuser:x:1000:\nextra:x:2001:user\n');

  const child = spawn('unshare', ['-m', 'sh', '-c', SCRIPT, root, process.execPath, PROGRAM], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, CHECKOUT, ENVD_SOCKET_DIR: socketDir, ENVD_PORT: '0' },
  });
  let front: EdgeFront | undefined;
  const end = async (): Promise<void> => {
    await front?.close();
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      const namespace = mountNamespaceOf(String(child.pid));
      // The kernel gives the number of a namespace to the next one as soon as nothing holds it.
      const held = namespace === undefined ? undefined : await open(`/proc/${child.pid}/ns/mnt`);
      child.kill('SIGKILL');
      await exited;
      // Commands outlive the agent, and would keep its disk mounted.
      for (const pid of await readdir('/proc'))
        if (/^\d+$/.test(pid) && held !== undefined && mountNamespaceOf(pid) === namespace)
          process.kill(Number(pid), 'SIGKILL');
      await held?.close();
    }
    await rm(root, { recursive: true, force: true });
  };
  try {
    const port = await waitForPort(join(socketDir, 'envd.log'));
    const url = `http://127.0.0.1:${port}`;
    const keys = createKeys(accessToken);
    await initializeAgent(join(socketDir, 'control.sock'), {
      sandboxId: SANDBOX_ID,
      templateId: 'bare',
      envVars,
      cpuCount: 2,
      memoryMb: 1024,
      timestamp: new Date().toISOString(),
      defaultUser: 'user',
      ...toInitKeys(keys),
      ...(defaultWorkdir !== undefined && { defaultWorkdir }),
    });
    const dialSocket = async () => connect(join(socketDir, 'http.sock'));
    if (hasEdge) front = await startEdgeFront({ sandboxId: SANDBOX_ID, agent: keys, dial: dialSocket });
    return {
      url: front?.url ?? url,
      innerUrl: url,
      innerSocketDir: socketDir,
      sandboxId: SANDBOX_ID,
      accessToken: accessToken ?? '',
      rootHome: ROOT_HOME,
      dial: async (way) => (way === 'port' ? connect(port, '127.0.0.1') : dialSocket()),
      findProcess: () => createAgentProcess(child.pid ?? 0),
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
};

const mountNamespaceOf = (pid: string): string | undefined => {
  try {
    const namespace = readlinkSync(`/proc/${pid}/ns/mnt`);
    return namespace === readlinkSync('/proc/self/ns/mnt') ? undefined : namespace;
  } catch {
    return undefined; // The process has just ended.
  }
};

const READY_MS = 30_000;

const parseLine = (line: string) => JSON.parse(line) as { message?: string; port?: number };

const waitForPort = async (logPath: string): Promise<number> => {
  for (const until = Date.now() + READY_MS; Date.now() < until; await sleep(20)) {
    const log = await readFile(logPath, 'utf8').catch(() => '');
    const lines = log.split('\n').slice(0, -1).map(parseLine);
    const port = lines.find(({ message }) => message === 'listening')?.port;
    if (port !== undefined && lines.some(({ message }) => message === 'ready')) return port;
  }
  throw new Error('the agent does not listen');
};
