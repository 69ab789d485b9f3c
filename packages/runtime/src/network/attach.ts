import { access } from 'node:fs/promises';
import { runCommand } from '../run-command.ts';
import { toSlotAddresses } from '../slots.ts';
import { ensureHostNetwork } from './host.ts';
import { openNetworkNamespace } from './namespace.ts';
import { findResolvers } from './resolvers.ts';
import { hostInterface, toGuestRules } from './rules.ts';

export interface NetworkOptions {
  /** A process inside the sandbox's network namespace. */
  pid: number;
  /** Reserved by the caller. */
  slot: number;
  /** Without it there is no interface but loopback. */
  internet: boolean;
  signal?: AbortSignal | undefined;
  stateDir?: string | undefined;
  /** Name servers that the sandbox may ask; default: the host's. */
  resolvers?: readonly string[] | undefined;
}

/**
 * Gives the network namespace of a sandbox its interfaces: loopback and, with `internet`, a link to the host with its
 * address, its route and its rules. The rules hold before the link is up. Leaves no link on the host when it rejects:
 * `unavailable` when the process is gone or the signal aborted, otherwise `internal`.
 */
export async function attachNetwork(options: NetworkOptions): Promise<void> {
  const { slot, signal, stateDir } = options;
  const namespace = await openNetworkNamespace(options.pid);
  const inside = (command: readonly string[], input: string): Promise<string> =>
    runCommand({
      file: 'nsenter',
      args: ['--net=/proc/self/fd/3', '--', ...command],
      input,
      fds: [namespace.fd],
      signal,
    });
  try {
    if (!options.internet) {
      await inside(['ip', '-batch', '-'], 'link set dev lo up\n');
      return;
    }
    const resolvers = options.resolvers ?? (await findResolvers());
    await Promise.all([ensureHostNetwork({ stateDir, resolvers }), detachNetwork({ slot })]);
    await Promise.all([
      runCommand({
        file: 'ip',
        args: ['-batch', '-'],
        input: toHostBatch(slot),
        fds: [namespace.fd],
        signal,
      }),
      inside(['nft', '-f', '-'], toGuestRules(resolvers)),
    ]);
    await inside(['ip', '-batch', '-'], toGuestBatch(slot));
  } catch (error) {
    await detachNetwork({ slot });
    throw error;
  } finally {
    await namespace.close();
  }
}

/** Removes the link of a slot from the host, and with it the sandbox's end. Idempotent. */
export async function detachNetwork(options: { slot: number }): Promise<void> {
  const link = hostInterface(options.slot);
  if (!(await hasInterface(link))) return;
  try {
    await runCommand({ file: 'ip', args: ['link', 'del', 'dev', link] });
  } catch (error) {
    // It also goes on its own, together with the sandbox's namespace.
    if (await hasInterface(link)) throw error;
  }
}

// IPv6 stays without any address on both ends: no link-local one is made, and none is learnt.
const toHostBatch = (slot: number): string => {
  const link = hostInterface(slot);
  const { host, guest } = toSlotAddresses(slot);
  return `link add dev ${link} type veth peer name eth0 netns /proc/self/fd/3
link set dev ${link} addrgenmode none
address add ${host} peer ${guest} dev ${link}
link set dev ${link} up
`;
};

const toGuestBatch = (slot: number): string => {
  const { host, guest } = toSlotAddresses(slot);
  return `link set dev lo up
link set dev eth0 addrgenmode none
address add ${guest} peer ${host} dev eth0
link set dev eth0 up
route add default via ${host} dev eth0
`;
};

/** Whether this process's network namespace has the interface. Unlike /sys, /proc/sys/net shows the reader's own. */
const hasInterface = (name: string): Promise<boolean> =>
  access(`/proc/sys/net/ipv4/conf/${name}`).then(
    () => true,
    () => false,
  );
