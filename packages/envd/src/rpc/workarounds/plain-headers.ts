/**
 * Program: Node.js
 * Does: Puts a small class in the place of the global `Headers`, which connect-es makes for each call.
 * Why not the promised way: The first use of Node's own loads all of undici: 16 MiB in each sandbox, and longer than the rest
 * of a first call. connect-es has no option for another class.
 * Source: https://github.com/nodejs/node/blob/v24.x/lib/internal/bootstrap/web/exposed-window-or-worker.js, where the global
 * is loaded on first use; https://fetch.spec.whatwg.org/#headers-class
 * When it no longer fits: A method that connect-es comes to use and that is missing here fails the tests of every call; without
 * `usePlainHeaders` all works, in more memory.
 * Test: plain-headers.test.ts
 * Bench row: memory.idle
 */
type Init = Iterable<readonly [string, string]> | Readonly<Record<string, string>>;

const isPairs = (init: Init): init is Iterable<readonly [string, string]> => Symbol.iterator in init;

/**
 * The `Headers` of the fetch standard, as far as a server of Connect calls needs it: names in lower case, several values
 * of one name joined with a comma. It takes the place of Node's own, whose first use loads all of undici: 16 MiB and longer
 * than the rest of a first call. Values need no check here, `node:http` refuses what is no header.
 */
export class PlainHeaders implements Iterable<[string, string]> {
  readonly #values = new Map<string, string>();

  constructor(init: Init = []) {
    for (const [name, value] of isPairs(init) ? init : Object.entries(init)) this.append(name, value);
  }

  append(name: string, value: string): void {
    const key = name.toLowerCase();
    const before = this.#values.get(key);
    this.#values.set(key, before === undefined ? String(value) : `${before}, ${value}`);
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), String(value));
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  forEach(callback: (value: string, name: string, headers: this) => void): void {
    for (const [name, value] of this.#values) callback(value, name, this);
  }

  entries(): IterableIterator<[string, string]> {
    return this.#values.entries();
  }

  keys(): IterableIterator<string> {
    return this.#values.keys();
  }

  values(): IterableIterator<string> {
    return this.#values.values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.#values.entries();
  }
}

/** Replaces the global `Headers` of this process. To be called before the first call is served. */
export const usePlainHeaders = (): void => {
  globalThis.Headers = PlainHeaders as unknown as typeof Headers;
};
