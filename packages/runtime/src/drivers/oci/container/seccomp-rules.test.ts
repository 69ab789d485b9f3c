import { describe, expect, it } from 'vitest';
import { dangerousCalls } from '../../../suite/syscalls.ts';
import { seccompProfile, sentryProfile } from './seccomp-rules.ts';

const namesOf = (action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO'): string[] =>
  seccompProfile.syscalls
    .filter((rule) => rule.action === action && !rule.args)
    .flatMap((rule) => rule.names);

describe('the seccomp profile', () => {
  it('has one rule for each call', () => {
    const decided = [...namesOf('SCMP_ACT_ALLOW'), ...namesOf('SCMP_ACT_ERRNO')];
    expect(decided.filter((name, index) => decided.indexOf(name) !== index)).toEqual([]);
    const conditional = seccompProfile.syscalls.filter((rule) => rule.args).flatMap((rule) => rule.names);
    expect(conditional.filter((name) => decided.includes(name))).toEqual([]);
  });

  it('names only actions that OCI runtimes know', () => {
    for (const { defaultAction, syscalls } of [seccompProfile, sentryProfile])
      for (const action of [defaultAction, ...syscalls.map((rule) => rule.action)])
        expect(['SCMP_ACT_ALLOW', 'SCMP_ACT_ERRNO']).toContain(action);
  });

  it('allows none of the dangerous calls, under any condition', () => {
    const allowed = seccompProfile.syscalls
      .filter((rule) => rule.action === 'SCMP_ACT_ALLOW')
      .flatMap((rule) => rule.names);
    expect(Object.keys(dangerousCalls).filter((name) => allowed.includes(name))).toEqual([]);
  });

  it('allows clone and unshare only without a flag for a new namespace', () => {
    const mask = (name: string): number | undefined =>
      seccompProfile.syscalls.find((rule) => rule.names.includes(name))?.args?.[0]?.value;
    // NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
    const flags = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000];
    for (const flag of flags) {
      expect((mask('clone') ?? 0) & flag).toBe(flag);
      expect((mask('unshare') ?? 0) & flag).toBe(flag);
    }
  });
});
