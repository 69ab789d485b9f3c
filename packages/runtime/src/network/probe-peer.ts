import { once } from 'node:events';
import type { Socket } from 'node:net';
import { inNetworkNamespace, openNetworkNamespace } from '../kernel/network-namespace.ts';
import { type Program, startProgram } from '../kernel/start-program.ts';
import { toInterfaceIndex } from './interface-index.ts';
import { addAddress, addLinkRoute, bringUp, createLink, guestInterface, loopbackIndex } from './link.ts';
import { openRouteSocket } from './route-socket.ts';
import { probeInterface } from './rules.ts';

const port = 80;

/**
 * Returns addresses of RFC 2544, which are not the public internet. The rules close them to all sandboxes but
 * that of the probe, and to the listener itself.
 */
const toAddresses = (slot: number): { near: string; far: string } => {
  const first = slot * 4 + 1;
  const toAddress = (offset: number): string => `198.18.${offset >> 8}.${offset & 255}`;
  return { near: toAddress(first), far: toAddress(first + 1) };
};

/** A listener behind this host that sandboxes may reach. */
export interface ProbePeer {
  address: string;
  port: number;
  /** Ends the listener; its link disappears a moment later. The end of this process does the same. */
  close(): void;
}

const listener = `require('node:net').createServer((socket) => socket.on('error', () => {}).end('far'))
  .listen(${port}, () => console.log('up'));
process.stdin.on('error', () => {}).on('close', () => process.exit()).resume();`;

/**
 * Starts a listener in a network namespace of its own behind a link of this one, as the internet is behind the uplink
 * of a host. The link and its addresses are those of `slot`, which the caller has reserved: each slot can have one.
 */
export async function openProbePeer(slot: number): Promise<ProbePeer> {
  const addresses = toAddresses(slot);
  const program = startProgram({
    file: 'unshare',
    args: ['--net', process.execPath, '-e', listener],
    // The first pipe closes with this process, however that ends.
    stdio: ['input', 'output', 'ignore'],
  });
  try {
    await untilUp(program);
    await connect(probeInterface(slot), program.pid, addresses);
    return { address: addresses.far, port, close: () => program.kill() };
  } catch (error) {
    program.kill();
    throw error;
  }
}

async function untilUp({ pipes, ended }: Program): Promise<void> {
  const failed = ended.then(() => Promise.reject(new Error('unshare --net failed')));
  await Promise.race([once(pipes[1] as Socket, 'data'), failed]);
}

async function connect(link: string, pid: number, addresses: { near: string; far: string }): Promise<void> {
  const namespace = await openNetworkNamespace(pid);
  const [near, far] = [openRouteSocket(), inNetworkNamespace(namespace, openRouteSocket)];
  try {
    await near.perform([createLink(link, namespace.fd)]);
    const index = toInterfaceIndex(link);
    await near.perform([
      addAddress(index, addresses.near),
      bringUp(index),
      addLinkRoute(index, addresses.far),
    ]);
    const farIndex = inNetworkNamespace(namespace, () => toInterfaceIndex(guestInterface));
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
