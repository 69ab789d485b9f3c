import type { StoredSnapshots } from '../stored/stored-snapshots.ts';
import type { AddressedRuntime } from './guest-socket.ts';

/** A driver in the process that holds it. */
export interface OpenedDriver {
  readonly runtime: AddressedRuntime;
  /** Absent where snapshots are of no use on another host. */
  readonly storedSnapshots?: StoredSnapshots;
  /** Closes the runtime, and removes what the driver keeps on the host beside sandboxes. Sandboxes keep running. */
  close(): Promise<void>;
}
