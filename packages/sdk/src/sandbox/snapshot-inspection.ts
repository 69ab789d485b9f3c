import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';

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

/** @internal */
export async function verifySnapshot(
  connection: Connection,
  snapshotId: string,
  options: CallOptions,
): Promise<string[]> {
  const { data } = await callApi(connection, options, (api, signal) =>
    api.POST('/skerry/v1/snapshots/{snapshotID}/verify', {
      params: { path: { snapshotID: snapshotId } },
      signal,
    }),
  );
  return data.problems;
}

/** @internal */
export async function readSnapshotLog(
  connection: Connection,
  snapshotId: string,
  options: CallOptions,
): Promise<SnapshotLogEntry[]> {
  const { data } = await callApi(connection, options, (api, signal) =>
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
}

/** @internal */
export async function diffFiles(
  connection: Connection,
  to: string,
  options: FileDiffOptions,
): Promise<FileDifference[]> {
  const { from } = options;
  const query = { to, ...(from === undefined ? {} : { from }) };
  const { data } = await callApi(connection, options, (api, signal) =>
    api.GET('/skerry/v1/snapshots/diff', { params: { query }, signal }),
  );
  return data.map(({ path, change, fields = [] }) => ({ path, change, fields }));
}
