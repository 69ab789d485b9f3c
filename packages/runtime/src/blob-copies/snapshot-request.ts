import { RuntimeError } from '../error.ts';
import { isInstanceId } from '../instance-id.ts';
import type { SnapshotId } from '../runtime.ts';
import type { CopyId } from './snapshot-copies.ts';

/** What a server asks of the host that has, or gets, a snapshot. The server serves the store on the same connection. */
export type SnapshotRequest =
  | { way: 'store'; snapshot: SnapshotId; copy: CopyId; templateDigest: string }
  | {
      way: 'fetch';
      /** The id of the new snapshot on the host. */
      snapshot: SnapshotId;
      copy: CopyId;
      templateDigest: string;
      manifestSha256: string;
      /** The image on the host: an absolute path. */
      rootfs: string;
    };

/** Reads the fields of a request. Throws `unsupported` with the name of one that cannot be. */
export const parseSnapshotRequest = (given: Record<string, unknown>): SnapshotRequest => {
  const { way, templateDigest, manifestSha256, rootfs } = given;
  const snapshot = toText(given.snapshot, isInstanceId, 'snapshot');
  const copy = toText(given.copy, isInstanceId, 'copy');
  const digest = toText(templateDigest, (text) => /^sha256:[0-9a-f]{64}$/.test(text), 'templateDigest');
  if (way === 'store') return { way, snapshot, copy, templateDigest: digest };
  if (way !== 'fetch') throw malformed('way');
  return {
    way,
    snapshot,
    copy,
    templateDigest: digest,
    manifestSha256: toText(manifestSha256, (text) => /^[0-9a-f]{64}$/.test(text), 'manifestSha256'),
    rootfs: toText(rootfs, (text) => text.startsWith('/') && text.length <= 4_096, 'rootfs'),
  };
};

const toText = (value: unknown, isValid: (text: string) => boolean, name: string): string => {
  if (typeof value === 'string' && isValid(value)) return value;
  throw malformed(name);
};

const malformed = (field: string): RuntimeError =>
  new RuntimeError('unsupported', `the request for a snapshot has no valid "${field}"`);
