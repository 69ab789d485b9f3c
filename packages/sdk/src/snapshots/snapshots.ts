import { SandboxError } from '../errors.ts';
import { callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import { type SnapshotListOptions, SnapshotPaginator } from './snapshot-info.ts';

export type FileField =
  | 'type'
  | 'mode'
  | 'uid'
  | 'gid'
  | 'sizeBytes'
  | 'target'
  | 'device'
  | 'xattrs'
  | 'content';

/** One path, and its change. */
export interface FileDifference {
  /** Absolute. Bytes that are not UTF-8 appear as lone surrogates, U+DC80 to U+DCFF. */
  path: string;
  change: 'added' | 'removed' | 'changed';
  /** What differs for `changed`; empty otherwise. Times are not compared. */
  fields: FileField[];
}

export interface SnapshotLogEntry {
  /** The id of this snapshot, which never points to another one. */
  buildId: string;
  /** The value for `Sandbox.create`; undefined when no name or id points to it any more. */
  snapshotId: string | undefined;
  /** The sandbox that it was made from. */
  sandboxId: string;
  createdAt: Date;
  state: 'ready' | 'removed';
}

export interface FileDiffOptions extends ConnectionOptions {
  /** Snapshot, template or sandbox. Default: the state that the other began with. */
  from?: string | undefined;
}

/** The snapshots of the service. `sandbox.createSnapshot` makes one, and `Sandbox.create({ template })` uses it. */
export const snapshots = {
  /** Lists the snapshots of this API key, newest first. The first request is sent when you read the first page. */
  list(options: SnapshotListOptions = {}): SnapshotPaginator {
    return new SnapshotPaginator(createConnection(options), options);
  },

  /**
   * Deletes a snapshot, by its id or name. Returns false when it does not exist. Rejects with `InvalidArgumentError` while
   * sandboxes use it.
   */
  async delete(snapshotId: string, options: ConnectionOptions = {}): Promise<boolean> {
    try {
      await callApi(createConnection(options), options, (api, signal) =>
        api.DELETE('/templates/{templateID}', { params: { path: { templateID: snapshotId } }, signal }),
      );
      return true;
    } catch (error) {
      if (error instanceof SandboxError && error.code === 'not_found') return false;
      throw error;
    }
  },

  /** Reads a whole snapshot and returns descriptions of what changed since it was made: an empty list when it is intact. */
  async verify(snapshotId: string, options: ConnectionOptions = {}): Promise<string[]> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.POST('/skerry/v1/snapshots/{snapshotID}/verify', {
        params: { path: { snapshotID: snapshotId } },
        signal,
      }),
    );
    return data.problems;
  },

  /** Returns the snapshot, then the one from which its sandbox was created, and so on. Rejects with `NotFoundError`. */
  async log(snapshotId: string, options: ConnectionOptions = {}): Promise<SnapshotLogEntry[]> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/skerry/v1/snapshots/{snapshotID}/log', {
        params: { path: { snapshotID: snapshotId } },
        signal,
      }),
    );
    return data.map(({ buildID, snapshotID, sandboxID, createdAt, state }) => ({
      buildId: buildID,
      snapshotId: snapshotID,
      sandboxId: sandboxID,
      createdAt: new Date(createdAt),
      state,
    }));
  },

  /**
   * Compares the files of a snapshot, a template or a sandbox in its present state, and returns the differences, ordered by
   * path. Rejects with `NotFoundError`, and with `InvalidArgumentError` when the two were created from different images or the
   * response would exceed 32 MiB.
   */
  async diff(to: string, options: FileDiffOptions = {}): Promise<FileDifference[]> {
    const { from } = options;
    const query = { to, ...(from === undefined ? {} : { from }) };
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/skerry/v1/snapshots/diff', { params: { query }, signal }),
    );
    return data.map(({ path, change, fields = [] }) => ({ path, change, fields }));
  },
};
