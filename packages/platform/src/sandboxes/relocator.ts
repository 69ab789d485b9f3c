import type { Instance } from '@skerry/runtime';
import type { Host } from '../hosts/hosts.ts';
import type { BlobCopyRow } from '../store/blob-copies/copy-rows.ts';
import type { ResumeReservation, SandboxRow } from '../store/rows.ts';

/** How a sandbox is resumed elsewhere. */
export interface Relocation {
  memory: boolean;
  isForwarded: boolean;
  reserve(host: Host): Promise<ResumeReservation>;
  onRefused(reserved: Exclude<ResumeReservation, 'reserved' | 'node_full'>): Promise<Error> | Error;
  start(row: SandboxRow, begin: () => Promise<Instance>): Promise<SandboxRow>;
}

/** Resumes paused sandboxes on other nodes, from the blob store. */
export interface Relocator {
  /**
   * The copy to resume a sandbox from on another node: where its node does not answer, is cordoned or lacks its files. Undefined when
   * it can or must resume where it is. Rejects with `unavailable` for one that is on no node and has no copy.
   */
  needs(row: SandboxRow): Promise<BlobCopyRow | undefined>;
  /** The copy from which it can be resumed elsewhere. */
  find(row: SandboxRow): Promise<BlobCopyRow | undefined>;
  /**
   * Reserves a place on a node of this server, and begins a run of the sandbox there by `start`, which gets what makes the instance. Goes on
   * with the next node when one cannot use the copy or has no room. When none can, rejects with `ElsewhereError` for a server that has one,
   * unless the call has come from another server, and otherwise with `unavailable` and the reason of each.
   */
  resume(row: SandboxRow, copy: BlobCopyRow, how: Relocation): Promise<SandboxRow>;
}
