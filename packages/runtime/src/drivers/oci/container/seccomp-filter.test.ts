import { arch } from 'node:os';
import { describe, expect, it } from 'vitest';
import { dangerousCalls } from '../../../suite/syscalls.ts';
import { AUDIT_ARCH_I386, runFilter } from '../testing/run-filter.ts';
import { compileSeccomp } from './seccomp.ts';
import { type SeccompProfile, seccompProfile, sentryProfile } from './seccomp-rules.ts';

const EPERM = { errno: 1 };
const ENOSYS = { errno: 38 };
const EPROTONOSUPPORT = { errno: 93 };
const ESOCKTNOSUPPORT = { errno: 94 };
const EOPNOTSUPP = { errno: 95 };
const EAFNOSUPPORT = { errno: 97 };

const isArm = arch() === 'arm64';
const numbers = isArm
  ? { read: 63, clone: 220, unshare: 97, socket: 198, socketpair: 199, personality: 92 }
  : { read: 0, clone: 56, unshare: 272, socket: 41, socketpair: 53, personality: 135 };
const dangerous = Object.entries(dangerousCalls).flatMap(([name, [x64, arm64]]) => {
  const number = isArm ? arm64 : x64;
  return number === undefined ? [] : [{ name, number }];
});

const container = compileSeccomp(seccompProfile);
const sentry = compileSeccomp(sentryProfile);

// linux/sched.h
const newNamespaces = {
  NEWNS: 0x00020000,
  NEWCGROUP: 0x02000000,
  NEWUTS: 0x04000000,
  NEWIPC: 0x08000000,
  NEWUSER: 0x10000000,
  NEWPID: 0x20000000,
  NEWNET: 0x40000000,
};
const NEWTIME = 0x80;
const SIGCHLD = 17;
const VM_AND_THREAD = 0x003d0f00;

const arguments_ = [[], [-1, -1, -1, -1, -1, -1], [1, 2, 3, 4, 5, 6]];

/** All that a profile refuses whatever the arguments are. */
const forbiddenBy = (profile: SeccompProfile): string[] =>
  profile.syscalls
    .filter((rule) => rule.action === 'SCMP_ACT_ERRNO' && !rule.args)
    .flatMap((rule) => rule.names)
    .sort();

describe('the filter of level container, as the kernel runs it', () => {
  it.each(dangerous.filter(({ name }) => name !== 'clone3'))('refuses $name', ({ number }) => {
    for (const args of arguments_) expect(runFilter(container, { number, args })).toEqual(EPERM);
  });

  it('says of clone3 that it does not exist, so that programs fall back', () => {
    expect(runFilter(container, { number: 435 })).toEqual(ENOSYS);
  });

  it('forbids what the hostile program tries, and nothing else', () => {
    // Neither architecture has it.
    const untried = ['umount'];
    const tried = Object.keys(dangerousCalls).filter((name) => name !== 'clone3');
    expect(forbiddenBy(seccompProfile)).toEqual([...tried, ...untried].sort());
  });

  it('says of a call that it does not know, and of any of another architecture, that it does not exist', () => {
    expect(runFilter(container, { number: 999 })).toEqual(ENOSYS);
    expect(runFilter(container, { number: numbers.read })).toBe('allowed');
    expect(runFilter(container, { number: numbers.read, arch: AUDIT_ARCH_I386 })).toEqual(ENOSYS);
    // The x32 calls of x86-64.
    expect(runFilter(container, { number: numbers.read + 0x40000000 })).not.toBe('allowed');
  });

  it('allows sockets of the families that programs need', () => {
    const number = numbers.socket;
    const families = [...Array(64).keys()].filter(
      (family) => runFilter(container, { number, args: [family, 1, 0] }) === 'allowed',
    );
    // Unix, IPv4, IPv6, netlink (route).
    expect(families).toEqual([1, 2, 10, 16]);
    for (const family of [17, 40, 64, 2 ** 31, 0xffffffff]) {
      expect(runFilter(container, { number, args: [family, 1, 0] })).toEqual(EAFNOSUPPORT);
    }
  });

  it('allows two protocols of netlink', () => {
    const ask = (protocol: number) =>
      runFilter(container, { number: numbers.socket, args: [16, 3, protocol] });
    const protocols = [...Array(256).keys()];
    expect(protocols.filter((protocol) => ask(protocol) === 'allowed')).toEqual([0, 4]);
    for (const protocol of [...protocols, 2 ** 31, 0xffffffff]) {
      if (protocol !== 0 && protocol !== 4) expect(ask(protocol), `${protocol}`).toEqual(EPROTONOSUPPORT);
    }
  });

  it.each([
    ['IPv4', 2],
    ['IPv6', 10],
  ])('allows only TCP, UDP and ICMP of %s, and the default', (_name, family) => {
    const protocols = [...Array(512).keys()].filter((protocol) =>
      [1, 2, 3].some(
        (type) =>
          runFilter(container, { number: numbers.socket, args: [family, type, protocol] }) === 'allowed',
      ),
    );
    // IPPROTO_ICMP, _TCP, _UDP and _ICMPV6; the kernel knows which family has which of them.
    expect(protocols).toEqual([0, 1, 6, 17, 58]);
  });

  it.each([
    ['IPv4', 2],
    ['IPv6', 10],
  ])(
    'allows streams, datagrams and raw sockets of %s as far as the kernel does, and no other type',
    (_name, family) => {
      const number = numbers.socket;
      // SOCK_NONBLOCK and SOCK_CLOEXEC.
      for (const flags of [0, 0x800, 0x80000, 0x80800]) {
        // What is in the registers behind the arguments of a call is left from earlier ones.
        const ask = (type: number) =>
          runFilter(container, { number, args: [family, flags | type, 0, 7, 7, 7] });
        const types = [...Array(16).keys()];
        expect(types.filter((type) => ask(type) === 'allowed')).toEqual([1, 2, 3]);
        for (const type of types) if (type < 1 || type > 3) expect(ask(type)).toEqual(ESOCKTNOSUPPORT);
      }
      for (const protocol of [2, 33, 57, 59, 60, 132, 255, 2 ** 31])
        expect(runFilter(container, { number, args: [family, 1, protocol] })).toEqual(EPROTONOSUPPORT);
    },
  );

  it('says of pairs of other families why there are none', () => {
    const ask = (family: number) =>
      runFilter(container, { number: numbers.socketpair, args: [family, 1, 0] });
    for (const family of [2, 10, 16]) expect(ask(family)).toEqual(EOPNOTSUPP);
    for (const family of [0, 3, 9, 15, 17, 18, 40, 2 ** 31]) expect(ask(family)).toEqual(EAFNOSUPPORT);
  });

  it('allows pairs of unix sockets alone', () => {
    const ask = (family: number) =>
      runFilter(container, { number: numbers.socketpair, args: [family, 1, 0] });
    const families = [...Array(64).keys(), 2 ** 31, 0xffffffff];
    expect(families.filter((family) => ask(family) === 'allowed')).toEqual([1]);
  });

  it.each(Object.entries(newNamespaces))('gives no way to a namespace: %s', (_name, flag) => {
    for (const others of [0, SIGCHLD, VM_AND_THREAD]) {
      expect(runFilter(container, { number: numbers.clone, args: [flag | others] })).toEqual(ENOSYS);
    }
    expect(runFilter(container, { number: numbers.unshare, args: [flag] })).toEqual(ENOSYS);
  });

  it('gives none to a time namespace either, whose flag is a part of the signal in clone', () => {
    expect(runFilter(container, { number: numbers.unshare, args: [NEWTIME] })).toEqual(ENOSYS);
    expect(runFilter(container, { number: numbers.unshare, args: [NEWTIME | 0x200] })).toEqual(ENOSYS);
    // CLONE_FS, and what a shell and a thread are made by.
    expect(runFilter(container, { number: numbers.unshare, args: [0x200] })).toBe('allowed');
    expect(runFilter(container, { number: numbers.clone, args: [SIGCHLD] })).toBe('allowed');
    expect(runFilter(container, { number: numbers.clone, args: [VM_AND_THREAD] })).toBe('allowed');
  });

  it('lets a program have the personalities of Linux, with and without random addresses', () => {
    const ask = (value: number) => runFilter(container, { number: numbers.personality, args: [value] });
    const allowed = [0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff];
    expect(allowed.filter((value) => ask(value) !== 'allowed')).toEqual([]);
    // READ_IMPLIES_EXEC, MMAP_PAGE_ZERO, ADDR_COMPAT_LAYOUT.
    for (const value of [0x0400000, 0x0100000, 0x0200000, 1, 0x40008]) expect(ask(value)).toEqual(ENOSYS);
  });
});

describe('the filter of level gvisor', () => {
  it.each(dangerous.filter(({ name }) => name !== 'clone3'))('refuses $name', ({ number }) => {
    for (const args of arguments_) expect(runFilter(sentry, { number, args })).toEqual(EPERM);
  });

  it('refuses each flag for a new namespace, alone and with others', () => {
    for (const flag of Object.values(newNamespaces)) {
      for (const number of [numbers.clone, numbers.unshare]) {
        expect(runFilter(sentry, { number, args: [flag] })).toEqual(EPERM);
        expect(runFilter(sentry, { number, args: [0x7e020000] })).toEqual(EPERM);
      }
    }
    expect(runFilter(sentry, { number: numbers.unshare, args: [NEWTIME] })).toEqual(EPERM);
    expect(runFilter(sentry, { number: numbers.clone, args: [NEWTIME] })).toBe('allowed');
    expect(runFilter(sentry, { number: numbers.clone, args: [SIGCHLD] })).toBe('allowed');
    expect(runFilter(sentry, { number: numbers.unshare, args: [0x200] })).toBe('allowed');
  });
});
