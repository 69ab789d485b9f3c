/**
 * Which of several servers of one database acts for what, until when. Times are those of the database, so that the clocks of the servers
 * do not matter.
 */
export interface LeaseStore {
  /** Takes a lease that is free, has expired or has that owner. Resolves with false when another owner has it. */
  takeLease(name: string, holder: LeaseHolder): Promise<boolean>;
  /** Extends all leases of that owner, also expired ones that no other has taken, from now on. Resolves with their names. */
  renewLeases(holder: Pick<LeaseHolder, 'owner' | 'leaseMs'>): Promise<string[]>;
  /** Gives up the leases of that owner, or one of them. */
  releaseLeases(owner: string, name?: string): Promise<void>;
  /** Those that have not expired, by name. */
  listLeases(): Promise<LeaseRow[]>;
}

/** One process of a server. */
export interface LeaseHolder {
  /** New at each start. */
  owner: string;
  /** `host:port` at which the other servers reach it. */
  address: string;
  leaseMs: number;
}

export interface LeaseRow {
  /** A node, or what begins with `*`. */
  name: string;
  owner: string;
  address: string;
  /** Since it was taken or renewed. */
  ageMs: number;
}
