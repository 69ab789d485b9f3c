import type { SnapshotCopies } from '../blob-copies/snapshot-copies.ts';
import type { HostLoad } from '../host-load.ts';
import type { AddressedRuntime } from './guest-socket.ts';

/** A driver in the process that holds it. */
export interface OpenedDriver {
  readonly runtime: AddressedRuntime;
  /** The copies of snapshots in a blob store. Absent where another host could not use them. */
  readonly snapshotCopies?: SnapshotCopies;
  /** Rejects with `RuntimeError` when the sandboxes cannot be listed. */
  measure(): Promise<HostLoad>;
  /** Closes the runtime, and removes what the driver keeps on the host beside sandboxes. Sandboxes keep running. */
  close(): Promise<void>;
}
