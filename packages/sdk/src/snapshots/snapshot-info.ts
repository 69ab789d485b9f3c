import type { components } from '@skerry/platform-client';
import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import { Paginator, toNextToken } from '../transport/paginator.ts';

export interface SnapshotInfo {
  /** The value for `template` of `Sandbox.create`: the full name with its tag, or an id with one. */
  snapshotId: string;
  /** Full names with namespace and tag; empty for a snapshot without a name. */
  names: string[];
}

export interface SnapshotOptions extends CallOptions {
  /** `[namespace/]name[:tag]`. The tag of a name that was used before moves to this snapshot. */
  name?: string | undefined;
  /** `false` captures the files only; sandboxes from it start without any process. Default true. */
  memory?: boolean | undefined;
}

export interface SnapshotListOptions extends ConnectionOptions {
  /** Only snapshots of this sandbox. */
  sandboxId?: string | undefined;
  /** Name, `namespace/name` or id: with a tag the snapshot of that tag, without one the newest. */
  name?: string | undefined;
  /** Snapshots in a page, 1 to 100. */
  limit?: number | undefined;
  /** `nextToken` of an earlier paginator, to continue after its last page. */
  nextToken?: string | undefined;
}

/** Lists snapshots, newest first. */
export class SnapshotPaginator extends Paginator<SnapshotInfo> {
  /** @internal */
  constructor(connection: Connection, options: SnapshotListOptions) {
    const { sandboxId, name, limit } = options;
    const filter = {
      ...(sandboxId === undefined ? {} : { sandboxID: sandboxId }),
      ...(name === undefined ? {} : { name }),
      ...(limit === undefined ? {} : { limit }),
    };
    super({
      nextToken: options.nextToken,
      fetchPage: async (nextToken) => {
        const query = { ...filter, ...(nextToken === undefined ? {} : { nextToken }) };
        const { data, response } = await callApi(connection, options, (api, signal) =>
          api.GET('/snapshots', { params: { query }, signal }),
        );
        return { items: data.map(toSnapshotInfo), nextToken: toNextToken(response) };
      },
    });
  }
}

/** @internal */
export async function createSnapshot(
  connection: Connection,
  sandboxId: string,
  options: SnapshotOptions,
): Promise<SnapshotInfo> {
  const { name, memory } = options;
  const { data } = await callApi(connection, options, (api, signal) =>
    api.POST('/sandboxes/{sandboxID}/snapshots', {
      params: { path: { sandboxID: sandboxId } },
      body: { ...(name === undefined ? {} : { name }), ...(memory === undefined ? {} : { memory }) },
      signal,
    }),
  );
  return toSnapshotInfo(data);
}

const toSnapshotInfo = ({ snapshotID, names }: components['schemas']['SnapshotInfo']): SnapshotInfo => ({
  snapshotId: snapshotID,
  names,
});
