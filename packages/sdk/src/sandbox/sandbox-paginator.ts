import { type Connection, callApi } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import { Paginator, toNextToken } from '../transport/paginator.ts';
import { type SandboxInfo, type SandboxState, toSandboxInfo } from './sandbox-info.ts';

export interface SandboxListOptions extends ConnectionOptions {
  /** All pairs must match exactly. */
  metadata?: Record<string, string> | undefined;
  /** Default: both. */
  state?: SandboxState[] | undefined;
  /** Only sandboxes that started at this moment or later. */
  startedAfter?: Date | undefined;
  /** Id or alias of the template. */
  template?: string | undefined;
  /** Sandboxes are ordered by their start time. Default `desc`. */
  order?: 'asc' | 'desc' | undefined;
  /** Sandboxes in a page, 1 to 100. */
  limit?: number | undefined;
  /** `nextToken` of an earlier paginator, to continue after its last page. */
  nextToken?: string | undefined;
}

/** Lists sandboxes, by their start. */
export class SandboxPaginator extends Paginator<SandboxInfo> {
  /** @internal */
  constructor(connection: Connection, options: SandboxListOptions) {
    super({
      nextToken: options.nextToken,
      fetchPage: async (nextToken) => {
        const { data, response } = await fetchPage(connection, options, nextToken);
        return { items: data.map(toSandboxInfo), nextToken: toNextToken(response) };
      },
    });
  }
}

async function fetchPage(connection: Connection, options: SandboxListOptions, nextToken: string | undefined) {
  const { metadata, state, startedAfter, template, order, limit } = options;
  const filter = metadata && Object.keys(metadata).length > 0 ? { metadata: toMetadataFilter(metadata) } : {};
  const paging = {
    ...(startedAfter ? { startedAfter: startedAfter.toISOString() } : {}),
    ...(template === undefined ? {} : { template }),
    ...(order ? { order } : {}),
    ...(limit === undefined ? {} : { limit }),
    ...(nextToken === undefined ? {} : { nextToken }),
  };
  const query = { ...filter, ...paging, ...(state ? { state } : {}) };
  return callApi(connection, options, (api, signal) =>
    api.GET('/v2/sandboxes', {
      params: { query },
      querySerializer: { array: { style: 'form', explode: false } },
      signal,
    }),
  );
}

/**
 * The value of the `metadata` query parameter before it is encoded as such. Each key and value is encoded twice: a
 * server that decodes the whole value before it splits at `&` and `=`, as some do, then still finds the pairs.
 *
 * @internal
 */
export function toMetadataFilter(metadata: Record<string, string>): string {
  const pairs = Object.entries(metadata).map((pair) => pair.map(encodeURIComponent));
  return new URLSearchParams(pairs).toString();
}
