/** How much of what was made with a key may exist at the same time, and how often it may call; what is undefined has no limit. */
export interface KeyLimits {
  /** Sandboxes that are starting, running, pausing or resuming. */
  sandboxes?: number;
  /** The memory of those sandboxes together, in MiB. */
  memoryMb?: number;
  /** Calls of the API, for each server. */
  requestsPerSecond?: number;
}

/** A limit of what is recorded. */
export type QuotaKind = Exclude<keyof KeyLimits, 'requestsPerSecond'>;

/** A limit of a key, and what a reservation would have made of it. */
export interface QuotaExceeded {
  kind: QuotaKind;
  keyName: string;
  project: string | null;
  max: number;
  used: number;
  needed: number;
  /** When enough of it ends, as far as that is known. */
  freeAt: number | null;
}
