import { describe, expect, it } from 'vitest';
import { readConnectionLimit } from './connection-limit.ts';
import { OPEN_NETWORK } from './policy.ts';
import { hostInterface, probeInterface, toGuestRules, toHostRules, toLinkRules } from './rules.ts';
import { type Packet, parseRules, runChain } from './testing/run-rules.ts';

const surroundings = {
  resolvers: ['9.9.9.9', '10.0.0.53'],
  closedAddresses: ['5.6.7.8'],
  policy: OPEN_NETWORK,
};
const limit = readConnectionLimit();

/** The verdicts of a chain on packets that have these parts in common. */
const verdictsOf =
  (rules: string, chain: string, common: Packet = {}) =>
  (packet: Packet): string =>
    runChain(parseRules(rules), chain, { ...common, ...packet });

const toResolvers: Packet[] = ['9.9.9.9', '10.0.0.53'].flatMap((to) =>
  (['tcp', 'udp'] as const).map((protocol) => ({ to, protocol, port: 53 })),
);
/** Other ports and protocols of a resolver in a closed range. */
const notToResolver: Packet[] = [
  { to: '10.0.0.53', protocol: 'tcp', port: 80 },
  { to: '10.0.0.53', protocol: 'udp', port: 54 },
  { to: '10.0.0.53', protocol: 'icmp' },
];
const toClosed: Packet[] = ['10.0.0.1', '169.254.169.254', '127.0.0.1', '5.6.7.8'].map((to) => ({ to }));
const toPublic: Packet[] = ['1.1.1.1', '5.6.7.9', '9.9.9.9'].map((to) => ({
  to,
  protocol: 'tcp',
  port: 443,
}));

it('Inside a sandbox and on its link, what no rule accepts is dropped', () => {
  for (const rules of [toGuestRules(surroundings), toLinkRules(surroundings, 'eth0')]) {
    const filters = [...parseRules(rules).chains.values()].filter(({ priority }) => priority === 0);
    expect(filters.length).toBeGreaterThan(0);
    for (const { policy } of filters) expect(policy).toBe('drop');
  }
});

describe('the rules of a sandbox', () => {
  const guest = toGuestRules(surroundings);
  const out = verdictsOf(guest, 'output', { oif: 'eth0' });

  it('let out what goes to public addresses and to the resolvers', () => {
    for (const packet of [...toResolvers, ...toPublic]) expect(out(packet)).toBe('accept');
    for (const packet of [...notToResolver, ...toClosed]) expect(out(packet)).toBe('reject');
    expect(out({ type: 'ip6' })).toBe('drop');
  });

  it('let out no new connection beyond the limit, and go on with those that exist', () => {
    for (const packet of [...toPublic, ...toResolvers]) {
      expect(out({ ...packet, connections: limit })).toBe('accept');
      expect(out({ ...packet, connections: limit + 1 })).toBe('drop');
      expect(out({ ...packet, connections: limit + 1, state: 'established' })).toBe('accept');
    }
  });

  it('let out what goes to one closed address when that is open for this sandbox', () => {
    const open = verdictsOf(toGuestRules(surroundings, '10.0.0.1'), 'output', { oif: 'eth0' });
    expect([open({ to: '10.0.0.1' }), open({ to: '10.0.0.2' })]).toEqual(['accept', 'reject']);
  });

  it('leave loopback alone, both ways and untracked', () => {
    for (const packet of [{ to: '127.0.0.1' }, { to: '10.0.0.1' }, { type: 'ip6' as const }]) {
      expect(verdictsOf(guest, 'output')({ ...packet, oif: 'lo', connections: limit + 1 })).toBe('accept');
      expect(verdictsOf(guest, 'input')({ ...packet, iif: 'lo' })).toBe('accept');
    }
    for (const [chain, side] of [
      ['untracked_out', 'oif'],
      ['untracked_in', 'iif'],
    ] as const) {
      expect(verdictsOf(guest, chain)({ [side]: 'lo' })).toBe('notrack');
      expect(verdictsOf(guest, chain)({ [side]: 'eth0' })).toBe('accept');
    }
  });

  it('let in answers alone, and forward nothing', () => {
    const into = verdictsOf(guest, 'input', { iif: 'eth0', from: '1.1.1.1' });
    expect((['new', 'established', 'related'] as const).map((state) => into({ state }))).toEqual([
      'drop',
      'accept',
      'accept',
    ]);
    expect(verdictsOf(guest, 'forward')({ iif: 'eth0', oif: 'eth0', state: 'established' })).toBe('drop');
  });

  it('name no resolver where there is none, and one where there is one', () => {
    for (const resolvers of [[], ['10.0.0.53']]) {
      const rules = toGuestRules({ resolvers, policy: OPEN_NETWORK });
      expect(parseRules(rules).sets.get('resolvers')).toEqual(resolvers);
      const [ask] = toResolvers.slice(2);
      expect(verdictsOf(rules, 'output')(ask ?? {})).toBe(resolvers.length > 0 ? 'accept' : 'reject');
    }
  });
});

describe('the policy of a sandbox', () => {
  const of = (allow: readonly string[], deny: readonly string[]) => {
    const rules = { ...surroundings, policy: { allow, deny } };
    const sides = [
      verdictsOf(toGuestRules(rules), 'output', { oif: 'eth0' }),
      verdictsOf(toLinkRules(rules, 'eth0'), 'output'),
    ];
    return (to: string, more: Packet = {}) => sides.map((verdict) => verdict({ to, ...more })).join(' ');
  };
  const udp = { protocol: 'udp', port: 53 } as const;

  it('denies addresses and ranges, and no others', () => {
    const verdict = of([], ['1.1.1.1', '8.8.0.0/16', '8.8.8.8', '2001:db8::/32']);
    for (const to of ['1.1.1.1', '8.8.0.0', '8.8.8.8', '8.8.255.255'])
      expect(verdict(to)).toBe('reject drop');
    for (const to of ['1.1.1.2', '8.7.255.255', '8.9.0.0']) expect(verdict(to)).toBe('accept accept');
  });

  it('lets what it allows through a denial, but never to a closed address', () => {
    const verdict = of(['1.1.1.0/24', '0.0.0.0/1'], ['0.0.0.0/0']);
    for (const to of ['1.1.1.1', '9.9.9.9']) expect(verdict(to)).toBe('accept accept');
    for (const to of ['200.0.0.1', '169.254.169.254', '10.0.0.1']) expect(verdict(to)).toBe('reject drop');
  });

  it('denies the resolvers with their addresses', () => {
    expect(of([], ['0.0.0.0/0'])('9.9.9.9', udp)).toBe('reject drop');
    expect(of([], ['1.0.0.0/8'])('10.0.0.53', udp)).toBe('accept accept');
  });

  it('marks what its names are decided on by: web ports and the resolvers, but no closed or allowed address', () => {
    const verdict = of(['api.example.com', '1.1.1.1'], ['0.0.0.0/0']);
    for (const port of [80, 443]) {
      expect(verdict('9.9.9.8', { protocol: 'tcp', port })).toBe('mark mark');
      expect(verdict('9.9.9.8', { protocol: 'tcp', port, state: 'established' })).toBe('mark mark');
      expect(verdict('1.1.1.1', { protocol: 'tcp', port })).toBe('accept accept');
      expect(verdict('10.0.0.1', { protocol: 'tcp', port })).toBe('reject drop');
      expect(verdict('9.9.9.8', { protocol: 'udp', port })).toBe('reject drop');
    }
    for (const { to = '', ...packet } of toResolvers) expect(verdict(to, packet)).toBe('mark mark');
    expect(verdict('8.8.8.8', udp)).toBe('reject drop');
    expect(verdict('9.9.9.8', { protocol: 'tcp', port: 8443 })).toBe('reject drop');
  });

  it('marks nothing without names', () => {
    for (const [allow, deny] of [
      [[], []],
      [['1.1.1.1'], ['0.0.0.0/0']],
    ] as const)
      expect(toGuestRules({ ...surroundings, policy: { allow, deny } })).not.toContain('dscp');
  });

  it('resets a TCP connection that it no longer allows', () => {
    const verdict = of([], ['1.1.1.1']);
    expect(verdict('1.1.1.1', { protocol: 'tcp', state: 'established' })).toBe('reset drop');
    expect(verdict('1.1.1.1', { protocol: 'udp', state: 'established' })).toBe('reject drop');
  });

  it('replaces the rules before, in one transaction', () => {
    expect(toGuestRules(surroundings)).toMatch(/^table inet skerry\ndelete table inet skerry\n/);
    expect(toLinkRules(surroundings, 'eth0')).toMatch(/^table netdev skerry\ndelete table netdev skerry\n/);
  });
});

describe('the rules of a link', () => {
  const out = verdictsOf(toLinkRules(surroundings, 'eth0'), 'output');

  it('let out the same as those of the sandbox, and questions for addresses', () => {
    for (const packet of [...toResolvers, ...toPublic, { type: 'arp' as const }])
      expect(out(packet)).toBe('accept');
    for (const packet of [...notToResolver, ...toClosed, { type: 'ip6' as const }])
      expect(out(packet)).toBe('drop');
  });

  it('are those of one interface', () => {
    expect(toLinkRules(surroundings, 'link7')).toContain('hook egress device "link7" ');
  });
});

describe('the rules of the host', () => {
  const host = toHostRules(surroundings);
  const sandbox = { iif: hostInterface(7), from: '10.201.0.30' };

  it('replace all earlier ones', () => {
    expect(host).toMatch(/^table inet skerry\ndelete table inet skerry\ntable inet skerry \{/);
  });

  it('are asked before a packet filter of the host, and the source before anything else', () => {
    const { chains } = parseRules(host);
    for (const chain of ['input', 'forward']) expect(chains.get(chain)?.priority).toBeLessThan(0);
    expect(chains.get('prerouting')?.priority).toBe(-300);
    const {
      new_connections: count,
      to_gateway: redirection,
      not_redirected: rest,
      ...others
    } = Object.fromEntries(chains);
    const steps = [count, redirection, rest];
    expect(steps.map((chain) => chain?.hook)).toEqual(['prerouting', 'prerouting', 'prerouting']);
    // The kernel begins to track connections at -200.
    expect(steps.map((chain) => chain?.priority)).toEqual([-150, -100, 0]);
    expect(Object.values(others).map(({ hook }) => hook)).toEqual(Object.keys(others));
  });

  it('take from a sandbox only IPv4 with its own address, and anything from others', () => {
    const source = verdictsOf(host, 'prerouting');
    expect(source(sandbox)).toBe('accept');
    expect(source({ ...sandbox, isSenderKnown: false })).toBe('drop');
    for (const type of ['ip6', 'arp'] as const) expect(source({ ...sandbox, type })).toBe('drop');
    expect(source({ iif: 'eth0', isSenderKnown: false, type: 'ip6' })).toBe('accept');
  });

  it('let a sandbox reach nothing on the host but a resolver', () => {
    const into = verdictsOf(host, 'input', sandbox);
    for (const packet of toResolvers) expect(into(packet)).toBe('accept');
    for (const packet of [...notToResolver, ...toClosed, ...toPublic, { state: 'established' as const }])
      expect(into(packet)).toBe('drop');
    expect(into({ iif: 'eth0', to: '10.0.0.1' })).toBe('accept');
  });

  it('let a sandbox reach what its own rules do, and no other sandbox', () => {
    const through = verdictsOf(host, 'forward', { ...sandbox, oif: 'eth0' });
    for (const packet of [...toResolvers, ...toPublic]) {
      expect(through(packet)).toBe('accept');
      for (const state of ['new', 'established'] as const)
        expect(through({ ...packet, state, oif: hostInterface(8) })).toBe('drop');
    }
    for (const packet of [...notToResolver, ...toClosed]) expect(through(packet)).toBe('reject');
  });

  it('take no new connection of a sandbox beyond the limit, wherever it leads, and go on with those that exist', () => {
    const first = verdictsOf(host, 'new_connections', sandbox);
    for (const isMarked of [false, true])
      for (const packet of [...toResolvers, ...toPublic].map((one) => ({ ...one, isMarked }))) {
        expect(first({ ...packet, connections: limit })).toBe('accept');
        expect(first({ ...packet, connections: limit + 1 })).toBe('drop');
        expect(first({ ...packet, connections: limit + 1, state: 'established' })).toBe('accept');
        expect(first({ ...packet, connections: limit + 1, iif: 'eth0' })).toBe('accept');
      }
  });

  const marked = { ...sandbox, isMarked: true };
  it('lead what is marked to the gateway, and to no closed address', () => {
    const first = verdictsOf(host, 'to_gateway', marked);
    for (const packet of [...toResolvers, ...toPublic]) expect(first(packet)).toBe('redirect');
    for (const packet of [...notToResolver, ...toClosed])
      expect(first({ protocol: 'tcp', port: 443, ...packet })).toBe('accept');
    for (const other of [{ isMarked: false }, { iif: 'eth0' }])
      for (const packet of [...toResolvers, ...toPublic])
        expect(first({ ...packet, ...other })).toBe('accept');
    const into = verdictsOf(host, 'input', { ...marked, to: '10.201.0.29', protocol: 'tcp' });
    for (const port of [29_053, 29_443])
      expect([into({ port, isRedirected: true }), into({ port })]).toEqual(['accept', 'drop']);
    expect(into({ port: 22, isRedirected: true })).toBe('drop');
    expect(into({ port: 29_443, isRedirected: true, isForAnyAddress: true })).toBe('reject');
  });

  it('forward nothing that is marked, whatever connection it belongs to', () => {
    const through = verdictsOf(host, 'not_redirected', marked);
    for (const state of ['new', 'established'] as const) {
      for (const packet of toPublic) expect(through({ ...packet, state })).toBe('reset');
      for (const packet of toResolvers) expect(through({ ...packet, state })).toBe('reject');
    }
    for (const other of [{ isMarked: false }, { isRedirected: true }, { iif: 'eth0' }])
      for (const packet of [...toPublic, ...toResolvers])
        expect(through({ ...packet, ...other })).toBe('accept');
  });

  it('let a sandbox reach a listener of "skerry doctor"', () => {
    expect(verdictsOf(host, 'forward', sandbox)({ oif: probeInterface(7), to: '10.0.0.1' })).toBe('accept');
  });

  it('let answers to a sandbox through, and nothing else from outside', () => {
    const through = verdictsOf(host, 'forward', { iif: 'eth0', oif: hostInterface(7), from: '1.1.1.1' });
    expect((['new', 'established', 'related'] as const).map((state) => through({ state }))).toEqual([
      'drop',
      'accept',
      'accept',
    ]);
    expect(through({ oif: 'eth1' })).toBe('accept');
  });

  it('translate the addresses of sandboxes on their way out, and no others', () => {
    const leaving = verdictsOf(host, 'postrouting', { oif: 'eth0' });
    expect(leaving({ from: '10.201.0.30' })).toBe('masquerade');
    expect(leaving({ from: '10.202.0.30' })).toBe('accept');
    expect(leaving({ from: '10.201.0.30', oif: hostInterface(8) })).toBe('accept');
  });
});
