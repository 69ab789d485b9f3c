import { writeFileSync } from 'node:fs';
import { inNetworkNamespace, openNetworkNamespace } from '../kernel/network-namespace.ts';
import { bringUp, loopbackIndex } from './link.ts';
import { openRuleSet } from './nftables.ts';
import { openRouteSocket } from './route-socket.ts';

/** A time in which no packet of a network is sent or received. It ends with this process, too. */
export interface PacketStop {
  /** Lets everything pass again. Does nothing the second time. */
  end(): Promise<void>;
}

/**
 * Stops the packets of the network that the process is in, also those of loopback. SYNs still pass, because a client repeats a
 * lost SYN only after a second. A TCP sender notices only a delay. Freeze the processes first: other senders get `EPERM`.
 * Rejects with `unavailable` when there is no such process.
 */
export async function stopPackets(pid: number): Promise<PacketStop> {
  await using namespace = await openNetworkNamespace(pid);
  const rules = inNetworkNamespace(namespace, openRuleSet);
  try {
    await rules.run(stopRules);
  } catch (error) {
    rules.close();
    throw error;
  }
  let isOver = false;
  return {
    end: async () => {
      if (isOver) return;
      isOver = true;
      await rules.run('delete table inet stop').catch(() => {
        // It goes when its socket is closed, if later.
      });
      rules.close();
    },
  };
}

/**
 * Makes loopback of a network that the process is in, so that its connections can be restored one after the other: until
 * the end nothing arrives there, which would be answered with a reset where the other end is not there yet. And
 * until then sockets may be bound to addresses that the network does not have: those of the one before.
 */
export async function prepareLoopback(pid: number): Promise<PacketStop> {
  await using namespace = await openNetworkNamespace(pid);
  const packets = await stopPackets(pid);
  const socket = inNetworkNamespace(namespace, openRouteSocket);
  try {
    await socket.perform([bringUp(loopbackIndex)]);
    inNetworkNamespace(namespace, () => writeFileSync(anyAddress, '1'));
  } catch (error) {
    await packets.end();
    throw error;
  } finally {
    socket.close();
  }
  return {
    end: async () => {
      try {
        await using network = await openNetworkNamespace(pid);
        inNetworkNamespace(network, () => writeFileSync(anyAddress, '0'));
      } finally {
        await packets.end();
      }
    },
  };
}

/** Of the network namespace of whoever opens it. A network that never had an interface does not ask. */
const anyAddress = '/proc/sys/net/ipv4/ip_nonlocal_bind';

/** criu: soccr/soccr.h, the mark of the packets by which it makes a socket believe that the other end has closed. */
const SOCCR_MARK = '0xc114';

const passRules = `meta mark ${SOCCR_MARK} accept; tcp flags & syn == syn accept; drop;`;

// A table that has an owner goes with the socket by which it was made, in some milliseconds.
const stopRules = `table inet stop {
  flags owner
  chain output { type filter hook output priority raw; ${passRules} }
  chain input { type filter hook input priority raw; ${passRules} }
}
`;
