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
  it('names what is in the way and what mends it', () => {
    expect(() => refuseHost({ facts: { ...facts, kernelRelease: '4.19.0' } })).toThrow(
      /^Linux 4\.19\.0 is too old: .+ or newer \(mend: boot Linux .+\)$/,
    );
    expect(() => refuseHost({ facts: { ...facts, enforcesSelinux: true } })).toThrow(/setenforce 0/);
  });

  it('does not stop at what only some sandboxes miss', () => {
    expect(() => refuseHost({ facts: { ...facts, memoryBytes: 2 ** 29, hugePages: 4 } })).not.toThrow();
  });
});
