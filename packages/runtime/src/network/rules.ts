import { blockedRanges } from './blocked.ts';
import { readConnectionLimit } from './connection-limit.ts';
import { GATEWAY_DSCP, gatewayPorts } from './gateway/ports.ts';
import { type NetworkPolicy, toAllowedAddresses, toIpv4Entries, toNames } from './policy.ts';
import { withoutContained } from './ranges.ts';
import { slotNetwork } from './slots.ts';

/** The interfaces of sandboxes on the host: `skv` and the number of the slot. */
export const hostInterface = (slot: number): string => `skv${slot}`;

/** What differs around the sandboxes from host to host. */
export interface Surroundings {
  /** Name servers that sandboxes may ask. */
  resolvers: readonly string[];
  /** Addresses and ranges that are closed to sandboxes beside those that always are. */
  closedAddresses?: readonly string[] | undefined;
}

/** The interfaces on the host behind which `skerry doctor` puts a listener. */
export const probeInterface = (slot: number): string => `skprobe${slot}`;

const sets = ({ resolvers, closedAddresses = [] }: Surroundings): string => `
  set resolvers { type ipv4_addr; ${resolvers.length > 0 ? `elements = { ${resolvers.join(', ')} }` : ''} }
  set blocked { type ipv4_addr; flags interval; elements = { ${withoutContained([...blockedRanges, ...closedAddresses]).join(', ')} } }`;

/** The rules of one sandbox. */
export interface SandboxRules extends Surroundings {
  policy: NetworkPolicy;
}

/** Returns the sets of a policy, and how a rule matches what it denies: undefined where it denies nothing. */
const toDenial = (policy: NetworkPolicy): { sets: string; match?: string } => {
  const ranges = {
    denied: withoutContained(toIpv4Entries(policy.deny)),
    allowed: withoutContained(toAllowedAddresses(policy)),
  };
  if (ranges.denied.length === 0) return { sets: '' };
  const toSet = (name: keyof typeof ranges): string => `
  set ${name} { type ipv4_addr; flags interval; elements = { ${ranges[name].join(', ')} } }`;
  if (ranges.allowed.length === 0) return { sets: toSet('denied'), match: 'ip daddr @denied' };
  return { sets: toSet('denied') + toSet('allowed'), match: 'ip daddr != @allowed ip daddr @denied' };
};

/**
 * Returns the rules that mark what the gateway of names decides on; none where a policy has no names. What goes to allowed addresses takes
 * the route of the kernel. With its time to live a marked packet ends at the host where that has lost its rules.
 */
const toMarks = (policy: NetworkPolicy): string => {
  if (toNames(policy).length === 0) return '';
  const elsewhere = toAllowedAddresses(policy).length === 0 ? '' : 'ip daddr != @allowed ';
  const mark = `ip ttl set 1 ip dscp set ${GATEWAY_DSCP} accept`;
  return `ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 ${mark}
    ${elsewhere}ip daddr != @blocked tcp dport { 80, 443 } ${mark}`;
};

/**
 * Returns the rules inside a sandbox's own network namespace, where its root has no CAP_NET_ADMIN. Outgoing: what the policy leaves of the
 * public internet, and port 53 of the resolvers unless the policy denies them. Incoming: answers only. No IPv6. Packets are rejected
 * rather than dropped, so that programs do not hang. Loopback is not tracked, which would only cost time. One transaction replaces the
 * rules before.
 */
export const toGuestRules = (
  { policy, ...surroundings }: SandboxRules,
  /** An address that is open although its range is closed. */
  openAddress?: string,
): string => {
  const { sets: lists, match } = toDenial(policy);
  // A connection that the policy before allowed would otherwise wait for its time-out.
  const denial = match && [
    `${match} ct state established meta l4proto tcp reject with tcp reset`,
    `${match} reject with icmp type admin-prohibited`,
  ];
  return `table inet skerry
delete table inet skerry
table inet skerry {${sets(surroundings)}${lists}
  chain untracked_out { type filter hook output priority raw; oifname "lo" notrack; }
  chain untracked_in { type filter hook prerouting priority raw; iifname "lo" notrack; }
  chain output {
    type filter hook output priority 0; policy drop;
    oifname "lo" accept
    meta nfproto ipv6 drop
    ct state new ct count over ${readConnectionLimit()} drop
    ${openAddress === undefined ? '' : `ip daddr ${openAddress} accept`}
    ${toMarks(policy)}
    ${denial ? denial.join('\n    ') : ''}
    ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept
    ip daddr @blocked reject with icmp type admin-prohibited
    accept
  }
  chain input {
    type filter hook input priority 0; policy drop;
    iifname "lo" accept
    ct state established,related accept
  }
  chain forward { type filter hook forward priority 0; policy drop; }
}
`;
};

/**
 * Returns the rules on a sandbox's end of its link. gVisor's sentry sends packets past the network stack of the namespace, so
 * the rules of the namespace never see them. These allow the same targets as `toGuestRules`; the sentry filters what
 * comes in. Needs Linux 5.16. `link` is the interface, which must be there. One transaction replaces the rules before.
 */
export const toLinkRules = ({ policy, ...surroundings }: SandboxRules, link: string): string => {
  const { sets: lists, match } = toDenial(policy);
  return `table netdev skerry
delete table netdev skerry
table netdev skerry {${sets(surroundings)}${lists}
  chain output {
    type filter hook egress device "${link}" priority 0; policy drop;
    ether type arp accept
    ether type != ip drop
    ${toMarks(policy)}
    ${match === undefined ? '' : `${match} drop`}
    ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept
    ip daddr @blocked drop
    accept
  }
}
`;
};

/**
 * The rules of the host, the same for any number of sandboxes. They repeat the guest's rules, because a sandbox that
 * escapes its own must still reach nothing else, and add what only the host can enforce: each sandbox sends from its
 * own address, none reaches the host or another sandbox, and none has more connections than its part of the kernel's table, also to the
 * gateway of names. What is marked for that gateway is never forwarded, also when it belongs to a connection that was made before, and
 * reaches no program that listens on its ports at all addresses, as the gateway does not. One transaction replaces all earlier rules.
 */
export const toHostRules = (surroundings: Surroundings): string => `table inet skerry
delete table inet skerry
table inet skerry {${sets(surroundings)}
  set senders { type ipv4_addr; flags dynamic; size 65535; }
  chain new_connections {
    type filter hook prerouting priority mangle; policy accept;
    iifname "skv*" ct state new add @senders { ip saddr ct count over ${readConnectionLimit()} } drop
  }
  chain to_gateway {
    type nat hook prerouting priority dstnat; policy accept;
    iifname != "skv*" accept
    ip dscp ${GATEWAY_DSCP} ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 redirect to :${gatewayPorts.dns}
    ip daddr @blocked accept
    ip dscp ${GATEWAY_DSCP} tcp dport { 80, 443 } redirect to :${gatewayPorts.proxy}
  }
  chain not_redirected {
    type filter hook prerouting priority 0; policy accept;
    iifname != "skv*" accept
    ct status dnat accept
    ip dscp ${GATEWAY_DSCP} tcp dport { 80, 443 } reject with tcp reset
    ip dscp ${GATEWAY_DSCP} meta l4proto { tcp, udp } th dport 53 reject with icmp type admin-prohibited
  }
  chain prerouting {
    type filter hook prerouting priority raw; policy accept;
    iifname != "skv*" accept
    meta nfproto != ipv4 drop
    fib saddr . iif oif missing drop
  }
  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifname != "skv*" accept
    ct status dnat th dport { ${gatewayPorts.dns}, ${gatewayPorts.proxy} } socket wildcard 1 reject with icmp type admin-prohibited
    ct status dnat th dport { ${gatewayPorts.dns}, ${gatewayPorts.proxy} } accept
    ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept
    drop
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname "skv*" oifname "skv*" drop
    iifname "skv*" ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept
    iifname "skv*" oifname "skprobe*" accept
    iifname "skv*" ip daddr @blocked reject with icmp type admin-prohibited
    iifname "skv*" accept
    oifname "skv*" ct state established,related accept
    oifname "skv*" drop
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${slotNetwork} oifname != "skv*" masquerade
  }
}
`;
