import { create, fromJson } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { checkBounds } from '../bounds/check-bounds.ts';
import * as wire from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { OPEN_NETWORK } from '../network/policy.ts';
import { parseSpec } from '../remote/messages.ts';

const spec = {
  id: 'i0123456789',
  rootfs: '/data/images/base',
  hostname: 'i0123456789',
  limits: { cpuCount: 0.5, memoryBytes: 512, diskBytes: 1024, processCount: 100 },
  network: OPEN_NETWORK,
};

const receive = ({ network, ...settings }: Record<string, unknown>) => {
  const json = { ...settings, network: JSON.stringify(network) };
  const request = create(wire.CreateRequestSchema, {
    spec: fromJson(wire.InstanceSpecSchema, JSON.parse(JSON.stringify(json))),
  });
  checkBounds(wire.CreateRequestSchema, request);
  return parseSpec(request);
};

describe('a spec that is received', () => {
  it('is kept when it is complete', () => {
    expect(receive(spec)).toEqual(spec);
  });

  it.each<[string, Record<string, unknown>]>([
    ['spec.id', { ...spec, id: '../up' }],
    ['spec.id', { ...spec, id: '' }],
    ['spec.id', { ...spec, id: 'a'.repeat(41) }],
    ['spec.id', { ...spec, id: 'a\n' }],
    ['spec.rootfs', { ...spec, rootfs: 'relative' }],
    ['spec.rootfs', { ...spec, rootfs: '/data/../etc' }],
    ['spec.rootfs', { ...spec, rootfs: '/data,upperdir=/etc' }],
    ['spec.rootfs', { ...spec, rootfs: '/data:/etc' }],
    ['spec.rootfs', { ...spec, rootfs: '/data\0' }],
    ['spec.snapshot', { ...spec, rootfs: undefined, snapshot: '../up' }],
    ['spec.hostname', { ...spec, hostname: 'a b' }],
    ['spec.hostname', { ...spec, hostname: 'a\n' }],
    ['spec.hostname', { ...spec, hostname: '-a' }],
    ['spec.limits', { ...spec, limits: undefined }],
    ['spec.limits.cpuCount', { ...spec, limits: { ...spec.limits, cpuCount: 0 } }],
    ['spec.limits.cpuCount', { ...spec, limits: { ...spec.limits, cpuCount: 'NaN' } }],
    ['spec.limits.cpuCount', { ...spec, limits: { ...spec.limits, cpuCount: 'Infinity' } }],
    ['spec.limits.memoryBytes', { ...spec, limits: { ...spec.limits, memoryBytes: `${2n ** 53n}` } }],
    ['spec.limits.processCount', { ...spec, limits: { ...spec.limits, processCount: 0 } }],
    ['network', { ...spec, network: { allow: '1.1.1.1', deny: [] } }],
    ['network.deny\\[1\\]', { ...spec, network: { allow: [], deny: ['0.0.0.0/0', '1.1.1.1 } accept'] } }],
    ['network', { ...spec, network: { ...OPEN_NETWORK, internet: true } }],
  ])('is refused for a wrong %s, naming it', (what, value) => {
    expect(() => receive(value)).toThrow(new RegExp(`^${what.replaceAll('.', '\\.')} `));
  });
});
