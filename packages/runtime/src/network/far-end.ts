import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import koffi from '../kernel/native.ts';
import { inNetworkNamespace, openNetworkNamespace } from '../kernel/network-namespace.ts';
import { addAddress, addLinkRoute, bringUp, createLink, guestInterface, loopbackIndex } from './link.ts';
import { openRouteSocket } from './route-socket.ts';

const toIndex: (name: string) => number = koffi.load(null).func('unsigned int if_nametoindex(const char *)');

const port = 80;

/** Out of RFC 2544: not the public internet, and not closed to sandboxes. */
const toAddresses = (slot: number): { near: string; far: string } => {
  const first = slot * 4 + 1;
  const toAddress = (offset: number): string => `198.18.${offset >> 8}.${offset & 255}`;
  return { near: toAddress(first), far: toAddress(first + 1) };
};

/** Something behind this host that sandboxes may talk to. */
export interface FarEnd {
  address: string;
  port: number;
  /** Its link goes with it, a moment later. The end of this process does the same. */
  close(): void;
}

const listener = `require('node:net').createServer((socket) => socket.on('error', () => {}).end('far'))
  .listen(${port}, () => console.log('up'));
process.stdin.on('error', () => {}).on('close', () => process.exit()).resume();`;

/**
 * Puts a listener behind a link of this network namespace, in a namespace of its own, as the internet is behind the
 * uplink of a host. Its link and addresses are those of `slot`, which the caller has reserved: there may be one for each.
 */
export async function openFarEnd(slot: number): Promise<FarEnd> {
  const addresses = toAddresses(slot);
  const child = spawn('unshare', ['--net', process.execPath, '-e', listener], {
    // The first one ends with this process, however that ends.
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    await untilUp(child);
    await connect(`skprobe${slot}`, child.pid as number, addresses);
    return { address: addresses.far, port, close: () => void child.kill('SIGKILL') };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

async function untilUp(child: ChildProcess & { stdout: NodeJS.ReadableStream }): Promise<void> {
  const failed = once(child, 'exit').then(() => Promise.reject(new Error('unshare --net failed')));
  await Promise.race([once(child.stdout, 'data'), failed]);
}

async function connect(link: string, pid: number, addresses: { near: string; far: string }): Promise<void> {
  const namespace = await openNetworkNamespace(pid);
  const [near, far] = [openRouteSocket(), inNetworkNamespace(namespace, openRouteSocket)];
  try {
    await near.perform([createLink(link, namespace.fd)]);
    const index = toIndex(link);
    await near.perform([
      addAddress(index, addresses.near),
      bringUp(index),
      addLinkRoute(index, addresses.far),
    ]);
    const farIndex = inNetworkNamespace(namespace, () => toIndex(guestInterface));
    await far.perform([
      bringUp(loopbackIndex),
      addAddress(farIndex, addresses.far),
      bringUp(farIndex),
      addLinkRoute(farIndex, addresses.near),
    ]);
  } finally {
    near.close();
    far.close();
    await namespace.close();
  }
}
