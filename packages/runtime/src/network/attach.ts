import type { FileHandle } from 'node:fs/promises';
import { RuntimeError } from '../error.ts';
import { hasInterface, inNetworkNamespace, openNetworkNamespace } from '../kernel/network-namespace.ts';
import type { Gateway } from './gateway/gateway.ts';
import { ensureHostNetwork } from './host.ts';
import { toInterfaceIndex } from './interface-index.ts';
import {
  addAddress,
  addDefaultRoute,
  addLinkRoute,
  bringUp,
  createLink,
  deleteLink,
  guestInterface,
  loopbackIndex,
  withoutIpv6,
} from './link.ts';
import { openRuleSet } from './nftables.ts';
import { findRecentOnLinkRanges } from './on-link.ts';
import { isClosedNetwork, type NetworkPolicy, toNames } from './policy.ts';
import { findResolvers } from './resolvers.ts';
import { openRouteSocket, type RouteSocket } from './route-socket.ts';
import { hostInterface, type SandboxRules, type Surroundings, toGuestRules, toLinkRules } from './rules.ts';
import { toSlotAddresses } from './slots.ts';

export interface NetworkOptions extends Partial<Surroundings> {
  /** A process inside the sandbox's network namespace. */
  pid: number;
  /** Reserved by the caller. */
  slot: number;
  /** Open although its range is closed: the address of a probe's listener. */
  openAddress?: string;
  /** Where it is closed, the only interface is loopback. */
  policy: NetworkPolicy;
  /** What decides on names; `unsupported` without it where the policy has some. */
  gateway?: Gateway | undefined;
  /** The sandbox bypasses the network stack of its namespace, and so the rules there. Default: false. */
  hasOwnStack?: boolean;
  signal?: AbortSignal | undefined;
  stateDir?: string | undefined;
}

/**
 * Sets up the interfaces of a sandbox's network namespace: loopback and, unless the policy is closed, a link to the host with its
 * address, its route and its rules. The rules apply before the link is up. Leaves no link on the host when it rejects:
 * with `unavailable` when the process has ended or the signal aborted, otherwise with `internal`.
 */
export async function attachNetwork(options: NetworkOptions): Promise<void> {
  const namespace = await openNetworkNamespace(options.pid);
  try {
    throwIfAborted(options.signal);
    const guest = inNetworkNamespace(namespace, openRouteSocket);
    try {
      await guest.perform([bringUp(loopbackIndex)]);
      if (!isClosedNetwork(options.policy)) await connectToHost(options, { namespace, guest });
    } finally {
      guest.close();
    }
  } finally {
    await namespace.close();
  }
}

/**
 * Sets what the sandbox may reach by name, whose link must be there. Without names nothing goes through the gateway any more.
 * Rejects with `unsupported` where there is none.
 */
export async function setNames(options: Omit<NetworkOptions, 'pid'>): Promise<void> {
  const names = toNames(options.policy);
  const { host, guest } = toSlotAddresses(options.slot);
  if (names.length === 0) options.gateway?.remove(host);
  else {
    const { resolvers, closedAddresses = [] } = toSandboxRules(options);
    await requireGateway(options.gateway).set(host, { guest, names, resolvers, closedAddresses });
  }
}

/** Returns the gateway. Throws `unsupported` where there is none. */
export const requireGateway = (gateway: Gateway | undefined): Gateway => {
  if (gateway !== undefined) return gateway;
  throw new RuntimeError('unsupported', 'this host has no gateway for rules by name');
};

/** Returns the policy with what differs from host to host: by default the networks and name servers of the host. */
export const toSandboxRules = ({
  policy,
  resolvers,
  closedAddresses,
}: Omit<NetworkOptions, 'pid'>): SandboxRules => ({
  policy,
  resolvers: resolvers ?? findResolvers(),
  closedAddresses: closedAddresses ?? findRecentOnLinkRanges(),
});

async function connectToHost(
  options: NetworkOptions,
  { namespace, guest }: { namespace: FileHandle; guest: RouteSocket },
): Promise<void> {
  const { slot, signal, stateDir, openAddress, hasOwnStack = false } = options;
  const sandboxRules = toSandboxRules(options);
  const { resolvers, closedAddresses } = sandboxRules;
  const host = openRouteSocket();
  const rules = inNetworkNamespace(namespace, openRuleSet);
  try {
    await Promise.all([ensureHostNetwork({ stateDir, resolvers, closedAddresses }), removeLink(host, slot)]);
    throwIfAborted(signal);
    const made = [makeHostEnd(host, slot, namespace.fd), rules.run(toGuestRules(sandboxRules, openAddress))];
    // Both must have settled before the sockets that they use are closed.
    await Promise.allSettled(made);
    await Promise.all(made);
    throwIfAborted(signal);
    await setNames(options);
    if (hasOwnStack) await rules.run(toLinkRules(sandboxRules, guestInterface));
    await makeGuestEnd(guest, {
      slot,
      index: inNetworkNamespace(namespace, () => toInterfaceIndex(guestInterface)),
    });
    throwIfAborted(signal);
  } catch (error) {
    options.gateway?.remove(toSlotAddresses(slot).host);
    await removeLink(host, slot);
    throw error;
  } finally {
    rules.close();
    host.close();
  }
}

async function makeHostEnd(host: RouteSocket, slot: number, namespaceFd: number): Promise<void> {
  const name = hostInterface(slot);
  await host.perform([createLink(name, namespaceFd)]);
  const index = toInterfaceIndex(name);
  const { host: own, guest: other } = toSlotAddresses(slot);
  await host.perform([
    withoutIpv6(index),
    addAddress(index, own),
    bringUp(index),
    addLinkRoute(index, other),
  ]);
}

async function makeGuestEnd(
  guest: RouteSocket,
  { slot, index }: { slot: number; index: number },
): Promise<void> {
  const { host: other, guest: own } = toSlotAddresses(slot);
  await guest.perform([
    withoutIpv6(index),
    addAddress(index, own),
    bringUp(index),
    addLinkRoute(index, other),
    addDefaultRoute(index, other),
  ]);
}

/** Removes the link of a slot from the host, and with it the sandbox's end. Idempotent. */
export async function detachNetwork(options: { slot: number; gateway?: Gateway | undefined }): Promise<void> {
  options.gateway?.remove(toSlotAddresses(options.slot).host);
  if (!hasInterface(hostInterface(options.slot))) return;
  const host = openRouteSocket();
  try {
    await removeLink(host, options.slot);
  } finally {
    host.close();
  }
}

async function removeLink(host: RouteSocket, slot: number): Promise<void> {
  const name = hostInterface(slot);
  if (!hasInterface(name)) return;
  try {
    await host.perform([deleteLink(name)]);
  } catch (error) {
    // The kernel also removes it with the sandbox's namespace.
    if (hasInterface(name)) throw error;
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  throw new RuntimeError('unavailable', 'aborted before the network was set up', { cause: signal.reason });
}
