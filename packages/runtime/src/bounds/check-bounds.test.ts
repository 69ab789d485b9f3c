import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import * as manifest from '../gen/skerry/copies/v1/manifest_pb.ts';
import * as wire from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { checkBounds } from './check-bounds.ts';

const target = { instance: 'i1', birthId: 'b' };
const part = { offset: 0, sizeBytes: 1, sha256: 'a'.repeat(64), storedBytes: 1 };

it('accepts what the schema allows, in lists and in each field of a oneof', () => {
  checkBounds(wire.ListUsageRequestSchema, create(wire.ListUsageRequestSchema, { targets: [target] }));
  for (const origin of [
    { case: 'rootfs', value: '/x' },
    { case: 'snapshot', value: 's1' },
  ] as const) {
    const tree = { origin };
    checkBounds(wire.DiffRequestSchema, create(wire.DiffRequestSchema, { from: tree, to: tree }));
  }
});

it.each([
  [wire.GetRequestSchema, {}, 'instance must be 1 to 40 of a-z and 0-9'],
  [wire.StopRequestSchema, {}, 'target is missing'],
  [wire.StopRequestSchema, { target: { instance: 'A' } }, 'target.instance must be 1 to 40 of a-z and 0-9'],
  [
    manifest.DiskSchema,
    { parts: [part, { ...part, sha256: 'a/b' }] },
    'parts[1].sha256 must be 64 hex digits',
  ],
  [wire.DiffRequestSchema, { from: {}, to: {} }, 'from.origin must be one of rootfs, snapshot, instance'],
  [
    wire.DiffRequestSchema,
    { from: { origin: { case: 'instance', value: '..' } }, to: {} },
    'from.instance must be 1 to 40 of a-z and 0-9',
  ],
  [
    wire.ExportImageRequestSchema,
    { origin: { case: 'target', value: { instance: '' } } },
    'target.instance must be 1 to 40 of a-z and 0-9',
  ],
] as const)('refuses a message of %o with its field: %j', (schema, message, problem) => {
  expect(() => checkBounds(schema, create(schema, message as never))).toThrow(problem);
});
