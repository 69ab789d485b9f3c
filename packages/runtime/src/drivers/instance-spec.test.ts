import { describe, expect, it } from 'vitest';
import { OPEN_NETWORK } from '../network/policy.ts';
import { parseInstanceSpec } from './instance-spec.ts';

const spec = {
  id: 'i0123456789',
  rootfs: '/data/images/base',
  hostname: 'i0123456789',
  limits: { cpuCount: 0.5, memoryBytes: 512, diskBytes: 1024, processCount: 100 },
  network: OPEN_NETWORK,
};

describe('parseInstanceSpec', () => {
  it('accepts a complete spec', () => {
    expect(parseInstanceSpec(JSON.parse(JSON.stringify(spec)))).toEqual(spec);
  });

  it.each<[string, unknown]>([
    ['spec', null],
    ['spec', 'text'],
    ['spec.extra', { ...spec, extra: 1 }],
    ['id', { ...spec, id: '../up' }],
    ['id', { ...spec, id: '' }],
    ['id', { ...spec, id: 'a'.repeat(41) }],
    ['id', { ...spec, id: 'a\n' }],
    ['rootfs', { ...spec, rootfs: 'relative' }],
    ['rootfs', { ...spec, rootfs: '/data/../etc' }],
    ['rootfs', { ...spec, rootfs: '/data,upperdir=/etc' }],
    ['rootfs', { ...spec, rootfs: '/data:/etc' }],
    ['rootfs', { ...spec, rootfs: '/data\0' }],
    ['hostname', { ...spec, hostname: 'a b' }],
    ['hostname', { ...spec, hostname: '-a' }],
    ['limits', { ...spec, limits: undefined }],
    ['limits.extra', { ...spec, limits: { ...spec.limits, extra: 1 } }],
    ['limits.cpuCount', { ...spec, limits: { ...spec.limits, cpuCount: 0 } }],
    ['limits.memoryBytes', { ...spec, limits: { ...spec.limits, memoryBytes: 1.5 } }],
    ['limits.diskBytes', { ...spec, limits: { ...spec.limits, diskBytes: '1' } }],
    ['limits.processCount', { ...spec, limits: { ...spec.limits, processCount: Number.POSITIVE_INFINITY } }],
    ['network', { ...spec, network: { allow: '1.1.1.1', deny: [] } }],
    ['network.deny\\[1\\]', { ...spec, network: { allow: [], deny: ['0.0.0.0/0', '1.1.1.1 } accept'] } }],
    ['network', { ...spec, network: { ...OPEN_NETWORK, internet: true } }],
  ])('refuses a wrong %s and names it', (what, value) => {
    expect(() => parseInstanceSpec(value)).toThrow(new RegExp(`^${what.replaceAll('.', '\\.')} `));
  });
});
