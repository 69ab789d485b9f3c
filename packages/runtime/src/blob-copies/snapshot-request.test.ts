import { expect, it } from 'vitest';
import { parseSnapshotRequest } from './snapshot-request.ts';

const templateDigest = `sha256:${'a'.repeat(64)}`;

it('requires a valid id for the copy', () => {
  const request = { way: 'store', snapshot: 's1', templateDigest };
  expect(parseSnapshotRequest({ ...request, copy: 'c1' })).toEqual({ ...request, copy: 'c1' });
  for (const copy of [undefined, '../x'])
    expect(() => parseSnapshotRequest({ ...request, copy })).toThrow('no valid "copy"');
});
