/** One page, and the name of the next if there is one. */
export interface Page<T> {
  items: T[];
  nextToken: string | undefined;
}

/** Items page by page with `nextItems`, or one by one with `for await`, which goes on from where the pages stopped. */
export class Paginator<T> implements AsyncIterable<T> {
  readonly #fetchPage: (nextToken: string | undefined) => Promise<Page<T>>;
  #nextToken: string | undefined;
  #hasNext = true;

  /** @internal */
  constructor(options: {
    fetchPage: (nextToken: string | undefined) => Promise<Page<T>>;
    nextToken: string | undefined;
  }) {
    this.#fetchPage = options.fetchPage;
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

  /** The next page; empty after the last. A call that fails can be made again. */
  async nextItems(): Promise<T[]> {
    if (!this.#hasNext) return [];
    const { items, nextToken } = await this.#fetchPage(this.#nextToken);
    this.#nextToken = nextToken;
    this.#hasNext = nextToken !== undefined;
    return items;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    while (this.#hasNext) yield* await this.nextItems();
  }
}

/**
 * Which page an answer says comes next.
 *
 * @internal
 */
export const toNextToken = ({ headers }: Response): string | undefined =>
  headers.get('x-next-token') ?? undefined;
