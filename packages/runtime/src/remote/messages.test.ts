import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { checkBounds } from '../bounds/check-bounds.ts';
import * as wire from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { OPEN_NETWORK } from '../network/policy.ts';
import type { Difference, InstanceSpec } from '../runtime.ts';
import {
  parseDifference,
  parseFeatures,
  parseInstance,
  parseSpec,
  parseState,
  toDifferenceMessage,
  toSpecMessage,
} from './messages.ts';

const spec: InstanceSpec = {
  id: 'one',
  rootfs: '/srv/image',
  hostname: 'one',
  limits: { cpuCount: 0.5, memoryBytes: 2 ** 40, diskBytes: 2 ** 52, processCount: 100 },
  network: OPEN_NETWORK,
};
/** Receives a request with the checks of the service. */
const receiveSpec = (request: wire.CreateRequest): InstanceSpec => {
  checkBounds(wire.CreateRequestSchema, request);
  return parseSpec(request);
};
const sendSpec = (sent: InstanceSpec): InstanceSpec => {
  const message = create(wire.CreateRequestSchema, { spec: toSpecMessage(sent) });
  return receiveSpec(fromBinary(wire.CreateRequestSchema, toBinary(wire.CreateRequestSchema, message)));
};

it('keeps every field of a spec', () => {
  expect(sendSpec(spec)).toEqual(spec);
  const { id, hostname, limits, network } = spec;
  const settings = { id, hostname, limits, network };
  expect(sendSpec({ ...settings, snapshot: 'whole' })).toEqual({ ...settings, snapshot: 'whole' });
  expect(sendSpec({ ...spec, isolation: 'gvisor' })).toEqual({ ...spec, isolation: 'gvisor' });
});

it('refuses an unknown level', () => {
  const request = create(wire.CreateRequestSchema, { spec: { ...toSpecMessage(spec), isolation: 'none' } });
  expect(() => receiveSpec(request)).toThrow('no isolation level: "none"');
});

it.each([1.5, -1, Number.NaN, 2 ** 60])('refuses %d bytes of memory, naming the field', (memoryBytes) => {
  expect(() => sendSpec({ ...spec, limits: { ...spec.limits, memoryBytes } })).toThrow(
    /^(spec\.)?limits\.memoryBytes /,
  );
});

it.each([
  ['spec', {}],
  ['spec.origin', { spec: { ...toSpecMessage(spec), origin: { case: undefined } } }],
  ['spec.limits', { spec: { ...toSpecMessage(spec), limits: undefined } }],
  ['network', { spec: { ...toSpecMessage(spec), network: undefined } }],
  [
    'spec.limits.processCount',
    { spec: { ...toSpecMessage(spec), limits: { cpuCount: 1, memoryBytes: 1n, diskBytes: 1n } } },
  ],
])('refuses a spec without %s, naming it', (field, request) => {
  expect(() => receiveSpec(create(wire.CreateRequestSchema, request as object))).toThrow(
    new RegExp(`^${field} `),
  );
});

it.each<Difference>([
  { path: '/plain', change: 'added' },
  { path: '/é/\udcff/ü', change: 'removed' },
  { path: '/a/b', change: 'changed', fields: ['mode', 'sizeBytes', 'xattrs'] },
])('keeps a difference, whatever bytes its path has: %j', (difference) => {
  const message = create(wire.DiffResponseSchema, toDifferenceMessage(difference));
  const bytes = toBinary(wire.DiffResponseSchema, message);
  expect(parseDifference(fromBinary(wire.DiffResponseSchema, bytes))).toEqual(difference);
});

it('refuses an empty answer', () => {
  expect(() => parseInstance({})).toThrow('no instance');
  expect(() => parseState(create(wire.GetStateResponseSchema))).toThrow('unknown value');
  expect(() => parseDifference(create(wire.DiffResponseSchema))).toThrow('unknown value');
  expect(() => parseFeatures(create(wire.DescribeResponseSchema, { features: { level: 'moat' } }))).toThrow(
    'features',
  );
});
