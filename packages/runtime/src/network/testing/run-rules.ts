import { isIPv4 } from 'node:net';

/** What rules decide on. Only what is given is there: a packet without an interface has none. */
export interface Packet {
  iif?: string;
  oif?: string;
  type?: 'ip' | 'ip6' | 'arp';
  from?: string;
  to?: string;
  protocol?: 'tcp' | 'udp' | 'icmp';
  port?: number;
  state?: 'new' | 'established' | 'related';
  /** The connections that are counted where this one would be. */
  connections?: number;
  /** Whether a rule of the sandbox has marked it for the gateway. */
  isMarked?: boolean;
  /** Whether a rule of the host has led it here. */
  isRedirected?: boolean;
  /** Whether the program that would get it listens at all addresses; undefined where none listens. */
  isForAnyAddress?: boolean;
  /** Whether its sender is the one that the host knows behind its interface. */
  isSenderKnown?: boolean;
}

interface Chain {
  hook: string;
  /** The smaller one is asked first; a packet filter of the host has 0. */
  priority: number;
  policy: string;
  rules: string[];
}

export interface Table {
  chains: ReadonlyMap<string, Chain>;
  sets: ReadonlyMap<string, readonly string[]>;
}

// netfilter_ipv4.h
const priorities: Readonly<Record<string, number>> = {
  raw: -300,
  '0': 0,
  mangle: -150,
  dstnat: -100,
  'filter - 10': -10,
  srcnat: 100,
};

const toNumber = (address: string): number =>
  address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

/** Whether an address is in one of these ranges, as in `10.0.0.0/8`, or is one of these addresses. */
export const isIn = (ranges: readonly string[], address: string): boolean =>
  ranges.some((range) => {
    const [first = '', bits = '32'] = range.split('/');
    const offset = toNumber(address) - toNumber(first);
    return isIPv4(address) && offset >= 0 && offset < 2 ** (32 - Number(bits));
  });

const parseHead = (head: string): Omit<Chain, 'rules'> => {
  const found = /^type \w+ hook (\w+)(?: device "\w+")? priority ([^;]+);(?: policy (accept|drop);)?$/.exec(
    head,
  );
  const [, hook = '', name = '', policy = 'accept'] = found ?? [];
  const priority = priorities[name];
  if (priority === undefined) throw new Error(`not the head of a chain: ${head}`);
  return { hook, priority, policy };
};

const parseSet = (text: string): readonly string[] => {
  const found =
    /^type ipv4_addr; (?:flags interval; )?(?:elements = \{ ([\d./, ]+) \})? *\}$|^type ipv4_addr; flags dynamic; size \d+; \}$/.exec(
      text,
    );
  if (found === null) throw new Error(`not a set: ${text}`);
  return found[1]?.split(', ') ?? [];
};

/** Parses rules in the form of this package. Throws for what rules have not had so far. */
export const parseRules = (text: string): Table => {
  const chains = new Map<string, Chain>();
  const sets = new Map<string, readonly string[]>();
  let open: Chain | undefined;
  for (const line of text.split('\n').map((one) => one.trim())) {
    const [, kind, name = '', rest = ''] = /^(chain|set) (\w+) \{ ?(.*)$/.exec(line) ?? [];
    if (kind === 'set') sets.set(name, parseSet(rest));
    else if (kind === 'chain' && rest !== '') {
      const [, head = '', rule] = /^(type .*?;(?: policy \w+;)?)(?: (.*);)? \}$/.exec(rest) ?? [];
      chains.set(name, { ...parseHead(head), rules: rule === undefined ? [] : [rule] });
    } else if (kind === 'chain') {
      open = { hook: '', priority: 0, policy: '', rules: [] };
      chains.set(name, open);
    } else if (line === '}') open = undefined;
    else if (open !== undefined && line.startsWith('type ')) Object.assign(open, parseHead(line));
    else if (line !== '') open?.rules.push(line);
  }
  return { chains, sets };
};

const isName = (pattern: string, name: string | undefined): boolean =>
  pattern.endsWith('*') ? name?.startsWith(pattern.slice(0, -1)) === true : name === pattern;

type Match = (packet: Packet, found: RegExpExecArray, table: Table) => boolean;

const addressed: Match = (packet, [, side, target = ''], { sets }) => {
  const address = side === 'daddr' ? packet.to : packet.from;
  const ranges = target.startsWith('@') ? sets.get(target.slice(1)) : [target];
  if (ranges === undefined) throw new Error(`there is no set ${target}`);
  return packet.type !== 'ip6' && address !== undefined && isIn(ranges, address);
};
const isOver: Match = ({ connections = 0 }, [, limit]) => connections > Number(limit);

const isAmong: Match = ({ port }, [, ports = '']) =>
  ports
    .split(', ')
    .map(Number)
    .includes(port ?? 0);

/** The conditions of a rule, each with whether a packet meets it; `!= ` is in front of the value. */
const conditions: [RegExp, Match][] = [
  [/^iifname (!= )?"([^"]+)" /, ({ iif }, [, not, name = '']) => isName(name, iif) !== (not !== undefined)],
  [/^oifname (!= )?"([^"]+)" /, ({ oif }, [, not, name = '']) => isName(name, oif) !== (not !== undefined)],
  [
    /^meta nfproto (!= )?ipv([46]) /,
    ({ type = 'ip' }, [, not, version]) =>
      (type === (version === '4' ? 'ip' : 'ip6')) !== (not !== undefined),
  ],
  [
    /^ether type (!= )?(ip|arp) /,
    ({ type = 'ip' }, [, not, name]) => (type === name) !== (not !== undefined),
  ],
  [
    /^ip (daddr|saddr) != (@\w+) /,
    (packet, found, table) => packet.type !== 'ip6' && !addressed(packet, found, table),
  ],
  [/^ip (daddr|saddr) (@\w+|[\d./]+) /, addressed],
  [/^meta l4proto \{ tcp, udp \} /, ({ protocol }) => protocol === 'tcp' || protocol === 'udp'],
  [/^meta l4proto tcp /, ({ protocol }) => protocol === 'tcp'],
  [/^th dport (\d+) /, ({ port }, [, wanted]) => port === Number(wanted)],
  [/^th dport \{ ([\d, ]+) \} /, isAmong],
  [
    /^tcp dport \{ ([\d, ]+) \} /,
    (packet, found, table) => packet.protocol === 'tcp' && isAmong(packet, found, table),
  ],
  [/^ip dscp 47 /, ({ isMarked = false }) => isMarked],
  [/^ct status dnat /, ({ isRedirected = false }) => isRedirected],
  [/^socket wildcard 1 /, ({ isForAnyAddress = false }) => isForAnyAddress],
  [/^ct state ([\w,]+) /, ({ state = 'new' }, [, states = '']) => states.split(',').includes(state)],
  [/^ct count over (\d+) /, isOver],
  [/^add @senders \{ ip saddr ct count over (\d+) \} /, isOver],
  [/^fib saddr \. iif oif missing /, ({ isSenderKnown = true }) => !isSenderKnown],
];

const verdicts =
  /^(accept|drop|notrack|masquerade|ip ttl set 1 ip dscp set 47 accept|redirect to :\d+|reject with (icmp type admin-prohibited|tcp reset))$/;

/** What a rule does with a packet, or undefined when it does not meet the rule's conditions. */
const apply = (rule: string, packet: Packet, table: Table): string | undefined => {
  let rest = rule;
  while (!verdicts.test(rest)) {
    const [pattern, match] = conditions.find(([one]) => one.test(rest)) ?? [];
    const found = pattern?.exec(rest);
    if (found == null || match === undefined) throw new Error(`not a rule: ${rule}`);
    if (!match(packet, found, table)) return undefined;
    rest = rest.slice(found[0].length);
  }
  if (rest.startsWith('ip ttl set')) return 'mark';
  return rest === 'reject with tcp reset' ? 'reset' : rest.split(' ')[0];
};

/** The verdict of one chain on a packet, as the kernel decides: that of the first rule that it meets, or the policy. */
export const runChain = (table: Table, name: string, packet: Packet): string => {
  const chain = table.chains.get(name);
  if (chain === undefined) throw new Error(`there is no chain ${name}`);
  for (const rule of chain.rules) {
    const verdict = apply(rule, packet, table);
    if (verdict !== undefined) return verdict;
  }
  return chain.policy;
};
