import type { components } from '@skerry/platform-client';
import type { CallOptions } from './call.ts';
import { type Connection, callApi } from './connection.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { SandboxError } from './errors.ts';

export interface SnapshotInfo {
  /** What `Sandbox.create` takes as its template: the full name with its tag, or an id with one. */
  snapshotId: string;
  /** Full names with namespace and tag; none when it was given no name. */
  names: string[];
}

export interface SnapshotOptions extends CallOptions {
  /** `[namespace/]name[:tag]`. A name that was used before gets this snapshot as its latest. */
  name?: string | undefined;
  /** `false` captures the files only; what is created from it boots afresh, without any process. Default true. */
  memory?: boolean | undefined;
}

export interface SnapshotListOptions extends ConnectionOptions {
  /** Only those made of this sandbox. */
  sandboxId?: string | undefined;
  /** Name, `namespace/name` or id, each with or without a tag. */
  name?: string | undefined;
  /** Snapshots a page, 1 to 100. */
  limit?: number | undefined;
  /** `nextToken` of an earlier paginator, to go on where it stopped. */
  nextToken?: string | undefined;
}

/** Snapshots page by page with `nextItems`, or one by one with `for await`, which goes on from where the pages stopped. */
export class SnapshotPaginator implements AsyncIterable<SnapshotInfo> {
  readonly #connection: Connection;
  readonly #options: SnapshotListOptions;
  #nextToken: string | undefined;
  #hasNext = true;

  /** @internal */
  constructor(connection: Connection, options: SnapshotListOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#nextToken = options.nextToken;
  }

  /** Whether there is another page. True before the first. */
  get hasNext(): boolean {
    return this.#hasNext;
  }

  /** Opaque; names the next page. */
  get nextToken(): string | undefined {
    return this.#nextToken;
  }

  /** The next page, newest first; empty after the last. A call that fails can be made again. */
  async nextItems(): Promise<SnapshotInfo[]> {
    if (!this.#hasNext) return [];
    const { sandboxId, name, limit } = this.#options;
    const query = {
      ...(sandboxId === undefined ? {} : { sandboxID: sandboxId }),
      ...(name === undefined ? {} : { name }),
      ...(limit === undefined ? {} : { limit }),
      ...(this.#nextToken === undefined ? {} : { nextToken: this.#nextToken }),
    };
    const { data, response } = await callApi(this.#connection, this.#options, (api, signal) =>
      api.GET('/snapshots', { params: { query }, signal }),
    );
    this.#nextToken = response.headers.get('x-next-token') ?? undefined;
    this.#hasNext = this.#nextToken !== undefined;
    return data.map(toSnapshotInfo);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SnapshotInfo, void, undefined> {
    while (this.#hasNext) yield* await this.nextItems();
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

/** @internal */
export async function deleteSnapshot(
  connection: Connection,
  snapshotId: string,
  options: CallOptions,
): Promise<boolean> {
  try {
    await callApi(connection, options, (api, signal) =>
      api.DELETE('/templates/{templateID}', { params: { path: { templateID: snapshotId } }, signal }),
    );
    return true;
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'not_found') return false;
    throw error;
  }
}

const toSnapshotInfo = ({ snapshotID, names }: components['schemas']['SnapshotInfo']): SnapshotInfo => ({
  snapshotId: snapshotID,
  names,
});
