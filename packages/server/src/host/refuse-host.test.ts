import { describe, expect, it } from 'vitest';
import { refuseHost } from './refuse-host.ts';

const facts = {
  kernelRelease: '6.1.0',
  setting: () => undefined,
  enforcesSelinux: false,
  memoryBytes: 2 ** 33,
  swapBytes: 0,
  hugePages: 0,
  leavesLinksToNetworkManager: false,
};

describe('the refusal of a host', () => {
  it('names the obstacle and its remedy', () => {
    expect(() => refuseHost({ facts: { ...facts, kernelRelease: '4.19.0' } })).toThrow(
      /^Linux 4\.19\.0 is too old: .+ or newer \(fix: boot Linux .+\)$/,
    );
    expect(() => refuseHost({ facts: { ...facts, enforcesSelinux: true } })).toThrow(/setenforce 0/);
  });

  it('does not refuse a host that lacks an optional feature', () => {
    expect(() => refuseHost({ facts: { ...facts, memoryBytes: 2 ** 29, hugePages: 4 } })).not.toThrow();
  });
});
