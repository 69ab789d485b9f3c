/** The addresses that were answered for names: a connection goes only to one of them. */
export interface Pins {
  add(name: string, addresses: readonly string[], ttlSeconds: number): void;
  has(name: string, address: string): boolean;
}

/** Programs look a name up once and connect a little later than its time to live says. */
const MIN_SECONDS = 60;
const MAX_SECONDS = 3_600;

/** The most names that are kept. Code inside chooses names below a wildcard freely. */
export const MAX_PINNED_NAMES = 1_024;

/** Keeps what was answered to one sandbox. The name whose answer is oldest is evicted when there are too many. */
export const createPins = (now: () => number = () => performance.now()): Pins => {
  /** Name → address → when it expires, in milliseconds. */
  const pinned = new Map<string, Map<string, number>>();
  return {
    add: (name, addresses, ttlSeconds) => {
      const at = now();
      const kept = [...(pinned.get(name) ?? [])].filter(([, expiry]) => expiry > at);
      const expiry = at + 1_000 * Math.min(Math.max(ttlSeconds, MIN_SECONDS), MAX_SECONDS);
      const added = addresses.map((address) => [address, expiry] as const);
      // Inserted anew: the map is in the order of the last answers.
      pinned.delete(name);
      pinned.set(name, new Map([...kept, ...added].slice(-MAX_ADDRESSES)));
      if (pinned.size > MAX_PINNED_NAMES) pinned.delete(pinned.keys().next().value as string);
    },
    has: (name, address) => (pinned.get(name)?.get(address) ?? Number.NEGATIVE_INFINITY) > now(),
  };
};

/** The most addresses of one name that are kept. */
const MAX_ADDRESSES = 64;
