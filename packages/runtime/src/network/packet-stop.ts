import { writeFileSync } from 'node:fs';
import { inNetworkNamespace, openNetworkNamespace } from '../kernel/network-namespace.ts';
import { bringUp, loopbackIndex } from './link.ts';
import { openRuleSet } from './nftables.ts';
import { openRouteSocket } from './route-socket.ts';

/** A period in which no packet of a network is sent or received. It also ends with this process. */
export interface PacketStop {
  /** Allows all packets again. A second call does nothing. */
  end(): Promise<void>;
}

/**
 * Stops the packets of the network that the process is in, also those of loopback. SYNs still pass, because a client
 * repeats a lost SYN only after a second. A TCP sender notices only a delay. Freeze the processes first: other senders
 * get `EPERM`. Rejects with `unavailable` when there is no such process.
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
        // Otherwise it ends later, with its socket.
      });
      rules.close();
    },
  };
}

/**
 * Prepares loopback of the network that the process is in, so that its connections can be restored one after the other.
 * Until the end no packet arrives there: it would be answered with a reset where the other end does not exist yet.
 * Until then sockets may also be bound to addresses that the network lacks, those of the network before.
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

/**
 * The setting belongs to the network namespace of the process that opens it. A network that never had an interface does
 * not ask.
 */
const anyAddress = '/proc/sys/net/ipv4/ip_nonlocal_bind';

/** criu: soccr/soccr.h, the mark of the packets by which it makes a socket believe that the other end has closed. */
const SOCCR_MARK = '0xc114';

const passRules = `meta mark ${SOCCR_MARK} accept; tcp flags & syn == syn accept; drop;`;

// The kernel removes an owned table with the socket that created it, within milliseconds.
const stopRules = `table inet stop {
  flags owner
  chain output { type filter hook output priority raw; ${passRules} }
  chain input { type filter hook input priority raw; ${passRules} }
}
`;
