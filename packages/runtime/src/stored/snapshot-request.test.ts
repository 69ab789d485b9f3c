import { expect, it } from 'vitest';
import { parseSnapshotRequest } from './snapshot-request.ts';

const templateDigest = `sha256:${'a'.repeat(64)}`;

it('takes the id of the snapshot for that of the copy when an earlier server names none', () => {
  const request = { way: 'store', snapshot: 's1', templateDigest };
  expect(parseSnapshotRequest(request)).toEqual({ ...request, copy: 's1' });
  expect(parseSnapshotRequest({ ...request, copy: 'c1' })).toEqual({ ...request, copy: 'c1' });
  expect(() => parseSnapshotRequest({ ...request, copy: '../x' })).toThrow('no valid "copy"');
});
