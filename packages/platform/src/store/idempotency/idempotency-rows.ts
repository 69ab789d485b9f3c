/** A call that its caller may repeat with the same `Idempotency-Key`. */
export interface KeyedCall {
  /** A hash of the key and of its caller. */
  id: string;
  /** The key with which it is made. */
  caller: string;
  /** A hash of all that the call says. */
  fingerprint: string;
  createdAt: number;
}

/** The answer to a call. */
export interface KeptAnswer {
  status: number;
  headers?: Record<string, unknown>;
  /** Undefined: it has none. */
  body?: unknown;
}

/** The first call with a key. */
export interface FirstCall extends KeyedCall {
  /** Null until it is over. */
  answer: KeptAnswer | null;
  /** Whether it is not over and another server, which runs, has it. */
  isElsewhere: boolean;
}

/** A call as the database has it. */
export interface KeyedCallRow extends KeyedCall {
  answer: KeptAnswer | null;
  /** The server that has it; null: the only one. */
  owner: string | null;
}
