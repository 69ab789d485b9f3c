import { writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { bringUp, loopbackIndex } from './link.ts';
import { inNetworkNamespace, openNetworkNamespace } from './namespace.ts';
import { openRouteSocket } from './netlink-socket.ts';
import { openRuleSet } from './nftables.ts';

/**
 * Makes loopback of a network that the process is in, so that its connections can be restored one after the other: until
 * `unlockLoopback` nothing arrives there, which would be answered with a reset where the other end is not there yet. And
 * until then sockets may be bound to addresses that the network does not have: those of the one before.
 */
export async function lockLoopback(pid: number): Promise<void> {
  await using namespace = await openNetworkNamespace(pid);
  await runRulesIn(namespace, lockRules);
  const socket = inNetworkNamespace(namespace, openRouteSocket);
  try {
    await socket.perform([bringUp(loopbackIndex)]);
  } finally {
    socket.close();
  }
  inNetworkNamespace(namespace, () => writeFileSync(anyAddress, '1'));
}

/** Lets everything arrive that is sent to loopback from now on, also what had been sent before and is sent again. */
export async function unlockLoopback(pid: number): Promise<void> {
  await using namespace = await openNetworkNamespace(pid);
  inNetworkNamespace(namespace, () => writeFileSync(anyAddress, '0'));
  await runRulesIn(namespace, 'delete table inet restoring');
}

/** Of the network namespace of whoever opens it. A network that never had an interface does not ask. */
const anyAddress = '/proc/sys/net/ipv4/ip_nonlocal_bind';

/** criu: soccr/soccr.h, the mark of the packets by which it makes a socket believe that the other end has closed. */
const SOCCR_MARK = '0xc114';

const lockRules = `table inet restoring {
  chain input { type filter hook input priority raw; meta mark != ${SOCCR_MARK} drop; }
}
`;

async function runRulesIn(namespace: FileHandle, text: string): Promise<void> {
  const rules = inNetworkNamespace(namespace, openRuleSet);
  try {
    await rules.run(text);
  } finally {
    rules.close();
  }
}
