import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:net';
import { inNetworkNamespace, openNetworkNamespace } from '@skerry/runtime/testing';

/** A host and an internet of one address, each a network namespace. This machine's own network is not changed. */
export interface OutsideLab extends AsyncDisposable {
  /** A command that runs the command appended to it on that host. */
  readonly through: readonly string[];
  /**
   * Opens a port of a public address to the sandboxes of that host, and returns `address:port`. The server itself has the network of
   * this process: it can forward what it is sent.
   */
  listen(server: Server, port: number): Promise<string>;
}

const publicAddress = '1.2.3.4';
const [hostAddress, gateway] = ['198.51.100.1', '198.51.100.2'];

/**
 * Makes both namespaces, which end with this process or when the lab is disposed of, with all that runs in them. The host has a `/run` of
 * its own: there, servers note which addresses and rules of their host are taken. Needs root.
 */
export async function startOutsideLab(): Promise<OutsideLab> {
  const host = await startHolder(['--mount'], 'mount -t tmpfs -o mode=755 tmpfs /run');
  const outside = await startHolder([], 'true');
  const toHost = ['nsenter', `--target=${host.pid}`, '--net', '--mount', '--'];
  configure(toHost, [
    'link set lo up',
    `link add up0 type veth peer name down0 netns ${outside.pid}`,
    `addr add ${hostAddress}/24 dev up0`,
    'link set up0 up',
    `route add default via ${gateway}`,
  ]);
  configure(
    ['nsenter', `--target=${outside.pid}`, '--net', '--'],
    [
      'link set lo up',
      `addr add ${gateway}/24 dev down0`,
      'link set down0 up',
      `addr add ${publicAddress}/32 dev lo`,
    ],
  );
  return {
    through: toHost,
    listen: async (server, port) => {
      const namespace = await openNetworkNamespace(outside.pid as number);
      try {
        // Without a host name the socket is opened before the call returns.
        inNetworkNamespace(namespace, () => server.listen(port));
        await once(server, 'listening');
      } finally {
        await namespace.close();
      }
      return `${publicAddress}:${port}`;
    },
    [Symbol.asyncDispose]: async () => {
      for (const holder of [host, outside]) {
        const closed = once(holder, 'close');
        holder.stdin?.end();
        if (holder.exitCode === null && holder.signalCode === null) await closed;
      }
    },
  };
}

/** A process in a network namespace of its own, which ends with its input. */
async function startHolder(namespaces: readonly string[], prepare: string): Promise<ChildProcess> {
  const script = `${prepare} && echo ready && exec cat`;
  const holder = spawn('unshare', ['--net', ...namespaces, 'sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await Promise.race([once(holder.stdout, 'data'), once(holder, 'close')]);
  if (String(line) !== 'ready\n') throw new Error(`no network namespace: ${String(line)}`);
  return holder;
}

function configure(enter: readonly string[], lines: readonly string[]): void {
  const [file, ...args] = [...enter, 'ip', '-batch', '-'];
  execFileSync(file, args, { input: `${lines.join('\n')}\n`, stdio: ['pipe', 'ignore', 'inherit'] });
}
