import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findClassDifferences } from './compare-classes.ts';
import { type CompatibilityClass, type HostClassFacts, toHostClass } from './compatibility-class.ts';
import { type CpuFacts, parseCpuinfo } from './cpu-facts.ts';

const readText = (name: string): string =>
  readFileSync(new URL(`testing/${name}.txt`, import.meta.url), 'utf8');

const readCpu = (name: string): CpuFacts => {
  const cpu = parseCpuinfo(readText(name));
  if (cpu === undefined) throw new Error(`${name} is not read`);
  return cpu;
};

const toClass = (cpu: CpuFacts, more: Partial<HostClassFacts> = {}): CompatibilityClass => ({
  ...toHostClass({
    cpu,
    kernelRelease: '6.1.0-37-amd64',
    checkpointer: { name: 'criu', version: '4.2' },
    cgroups: { version: 2, hybrid: false },
    level: 'container',
    ...more,
  }),
  templateDigest: 'sha256:aa',
  agentDigest: 'sha256:bb',
});

describe('the class of a host', () => {
  it.each([
    ['xeon-8370c-guest', { vendor: 'GenuineIntel', family: '6', model: '106' }, ['avx512_vnni', 'sha_ni']],
    ['core-i7-7820x', { vendor: 'GenuineIntel', family: '6', model: '85' }, ['avx512f', 'rtm']],
    ['epyc-guest', { vendor: 'AuthenticAMD', family: '25', model: '1' }, ['avx2', 'sse4a', 'vaes']],
    ['agilex-5', { vendor: '0x41', family: '8', model: '0xd05+0xd0b' }, ['asimd', 'atomics']],
  ])('has vendor, family, model and flags of %s', (name, expected, flags) => {
    const cpu = readCpu(name);
    expect(cpu).toMatchObject(expected);
    expect(cpu.flags).toEqual(expect.arrayContaining(flags));
    expect(cpu.flags).toEqual([...new Set(cpu.flags)].sort());
  });

  it('has no flags of mitigations, of virtual machines on the host, of power and of counters', () => {
    const { flags } = readCpu('core-i7-7820x');
    for (const flag of ['pti', 'md_clear', 'vmx', 'ept', 'hwp', 'constant_tsc', 'cqm', 'pebs', 'rep_good'])
      expect(flags).not.toContain(flag);
    // "vmx flags" and "bugs" are other lines.
    expect(readCpu('xeon-8370c-guest').flags).not.toContain('invvpid');
    expect(readCpu('xeon-8370c-guest').flags).not.toContain('bhi');
  });

  it('is unknown where the kernel does not report a processor', () => {
    expect(parseCpuinfo('')).toBeUndefined();
    expect(parseCpuinfo('processor\t: 0\nflags\t: fpu\n')).toBeUndefined();
    expect(parseCpuinfo(readText('epyc-guest').replace(/^flags.*$/m, ''))).toBeUndefined();
  });
});

describe('two classes', () => {
  const intel = readCpu('xeon-8370c-guest');
  const amd = readCpu('epyc-guest');

  it('are equal when only the kernel options, the firmware or the clock differ', () => {
    const other = parseCpuinfo(
      readText('xeon-8370c-guest')
        .replace('microcode\t: 0xffffffff', 'microcode\t: 0xd0003f5')
        .replace('3491.483', '2800.000')
        .replace('arch_capabilities', 'arch_capabilities md_clear ssbd ibrs pti')
        .replace(' vmx ', ' '),
    );
    if (other === undefined) throw new Error('not read');
    expect(findClassDifferences(toClass(intel), toClass(other))).toEqual([]);
  });

  it('differ by each value, and each difference has its reason', () => {
    const here = toClass(amd, {
      kernelRelease: '6.12.9',
      checkpointer: { name: 'runsc', version: '20250101' },
      cgroups: { version: 1, hybrid: true },
      level: 'gvisor',
    });
    expect(
      findClassDifferences(toClass(intel), {
        ...here,
        templateDigest: 'sha256:a2',
        agentDigest: 'sha256:b2',
      }),
    ).toEqual([
      'the vendor of the CPU was GenuineIntel and is AuthenticAMD here',
      'the family of the CPU was 6 and is 25 here',
      'the model of the CPU was 106 and is 1 here',
      'the kernel was 6.1.0-37-amd64 and is 6.12.9 here',
      'the program for checkpoints was criu 4.2 and is runsc 20250101 here',
      'the version of cgroups was 2 and is hybrid here',
      'the isolation level was container and is gvisor here',
      'the digest of the template was sha256:aa and is sha256:a2 here',
      'the digest of the agent was sha256:bb and is sha256:b2 here',
      expect.stringMatching(/^the CPU here lacks .*avx512f/),
      expect.stringMatching(/^the CPU here has also .*sse4a/),
    ]);
  });

  it('differ by one flag that one of them lacks, also one that is not known', () => {
    const more = { ...intel, flags: [...intel.flags, 'zz_new'] };
    expect(findClassDifferences(toClass(more), toClass(intel))).toEqual(['the CPU here lacks zz_new']);
    expect(findClassDifferences(toClass(intel), toClass(more))).toEqual(['the CPU here has also zz_new']);
  });

  it('differ when one was not recorded', () => {
    expect(findClassDifferences(undefined, toClass(intel))).toEqual([
      'its class was not recorded: it can only be restored on the host that it was taken on',
    ]);
    expect(findClassDifferences(toClass(intel), undefined)).toEqual(['the class of this host is unknown']);
  });
});
