/** One page, and the token of the next if there is one. */
export interface Page<T> {
  items: T[];
  nextToken: string | undefined;
}

/** Items page by page with `nextItems`, or one by one with `for await`, which continues after the last page read. */
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

  /** Opaque; identifies the next page. */
  get nextToken(): string | undefined {
    return this.#nextToken;
  }

  /** The next page; empty after the last. You can repeat a call that failed. */
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
 * The token of the next page in a response.
 *
 * @internal
 */
export const toNextToken = ({ headers }: Response): string | undefined =>
  headers.get('x-next-token') ?? undefined;
