import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { runCommand } from '../../kernel/run-command.ts';

/** A network namespace that stands for a machine. */
export interface LabHost {
  readonly name: string;
  /** In the network of the lab. */
  readonly address: string;
  /** A command that runs the command appended to it on this machine. */
  readonly through: readonly string[];
}

/** Machines on one switch. The network of the host is not changed, and the machines cannot reach it. */
export interface NetworkLab {
  host(name: string): LabHost;
  /** Takes the cable of a machine out, or puts it in again: packets vanish without an error. */
  cut(name: string): Promise<void>;
  mend(name: string): Promise<void>;
  /** Listens on a loopback port of the real host, and connects from that machine to the target. Resolves with the port. */
  forward(from: string, target: { host: string; port: number }): Promise<number>;
  close(): Promise<void>;
}

const forwarder = `process.on('message', ({ host, port }, socket) => {
  if (!socket) return;
  const out = require('node:net').connect({ host, port });
  for (const [a, b] of [[socket, out], [out, socket]])
    a.on('error', () => b.destroy()).on('close', () => b.destroy()).pipe(b);
  socket.resume();
});
process.send('ready');`;

/** Makes a machine for each name. Needs root, and the programs ip, nsenter and unshare. */
export async function makeNetworkLab(names: readonly string[]): Promise<NetworkLab> {
  const children: ChildProcess[] = [];
  const servers: ReturnType<typeof createServer>[] = [];

  const hold = async (): Promise<number> => {
    const child = spawn('unshare', ['--net', 'sh', '-c', 'echo up; exec sleep infinity'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    await once(child.stdout, 'data');
    return child.pid as number;
  };
  const enter = (pid: number): string[] => ['nsenter', `--target=${pid}`, '--net', '--'];
  const ip = (pid: number, lines: string[]): Promise<string> => {
    const [file, ...args] = [...enter(pid), 'ip', '-batch', '-'];
    return runCommand({ file, args, input: `${lines.join('\n')}\n` });
  };

  const middle = await hold();
  await ip(middle, ['link add switch type bridge', 'link set switch up']);
  const hosts = new Map<string, LabHost>();
  for (const [index, name] of names.entries()) {
    const pid = await hold();
    const address = `10.77.0.${index + 1}`;
    await ip(middle, [
      `link add port${index} type veth peer name eth0 netns ${pid}`,
      `link set port${index} master switch up`,
    ]);
    await ip(pid, [`address add ${address}/24 dev eth0`, 'link set eth0 up', 'link set lo up']);
    hosts.set(name, { name, address, through: enter(pid) });
  }

  const find = (name: string): LabHost => {
    const found = hosts.get(name);
    if (found === undefined) throw new Error(`the lab has no machine "${name}"`);
    return found;
  };
  const setLink = async (name: string, state: 'up' | 'down'): Promise<void> => {
    find(name);
    await ip(middle, [`link set port${names.indexOf(name)} ${state}`]);
  };

  return {
    host: find,
    cut: (name) => setLink(name, 'down'),
    mend: (name) => setLink(name, 'up'),
    forward: async (from, target) => {
      const [file = '', ...before] = find(from).through;
      const child = spawn(file, [...before, process.execPath, '-e', forwarder], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      children.push(child);
      await once(child, 'message');
      const server = createServer({ pauseOnConnect: true }, (socket: Socket) => {
        child.send(target, socket);
      });
      servers.push(server);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return (server.address() as { port: number }).port;
    },
    close: async () => {
      for (const server of servers) server.close();
      const living = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
      const ends = living.map((child) => once(child, 'exit'));
      for (const child of living) child.kill('SIGKILL');
      await Promise.all(ends);
    },
  };
}
