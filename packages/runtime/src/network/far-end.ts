import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import koffi from '../kernel/native.ts';
import { inNetworkNamespace, openNetworkNamespace } from '../kernel/network-namespace.ts';
import { addAddress, addLinkRoute, bringUp, createLink, guestInterface, loopbackIndex } from './link.ts';
import { openRouteSocket } from './route-socket.ts';

const toIndex: (name: string) => number = koffi.load(null).func('unsigned int if_nametoindex(const char *)');

/** Out of RFC 2544: not the public internet, and not closed to sandboxes. */
const [nearAddress, farAddress] = ['198.18.201.1', '198.18.201.2'];
const port = 80;

/** Something behind this host that sandboxes may talk to. */
export interface FarEnd {
  address: string;
  port: number;
  /** Its link goes with it. */
  close(): void;
}

const listener = `require('node:net').createServer((socket) => socket.on('error', () => {}).end('far'))
  .listen(${port}, () => console.log('up'));`;

/**
 * Puts a listener behind a link of this network namespace, in a namespace of its own, as the internet is behind the
 * uplink of a host. `link` names the interface, which must not be there yet.
 */
export async function openFarEnd(link: string): Promise<FarEnd> {
  const child = spawn('unshare', ['--net', process.execPath, '-e', listener], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await untilUp(child);
    await connect(link, child.pid as number);
    return { address: farAddress, port, close: () => void child.kill('SIGKILL') };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

async function untilUp(child: ChildProcess & { stdout: NodeJS.ReadableStream }): Promise<void> {
  const failed = once(child, 'exit').then(() => Promise.reject(new Error('unshare --net failed')));
  await Promise.race([once(child.stdout, 'data'), failed]);
}

async function connect(link: string, pid: number): Promise<void> {
  const namespace = await openNetworkNamespace(pid);
  const [near, far] = [openRouteSocket(), inNetworkNamespace(namespace, openRouteSocket)];
  try {
    await near.perform([createLink(link, namespace.fd)]);
    const index = toIndex(link);
    await near.perform([addAddress(index, nearAddress), bringUp(index), addLinkRoute(index, farAddress)]);
    const farIndex = inNetworkNamespace(namespace, () => toIndex(guestInterface));
    await far.perform([
      bringUp(loopbackIndex),
      addAddress(farIndex, farAddress),
      bringUp(farIndex),
      addLinkRoute(farIndex, nearAddress),
    ]);
  } finally {
    near.close();
    far.close();
    await namespace.close();
  }
}
