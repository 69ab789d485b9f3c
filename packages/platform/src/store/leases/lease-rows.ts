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

/** A lease as the database has it, by its own time. */
export interface LeaseTable extends Pick<LeaseRow, 'name' | 'owner' | 'address'> {
  renewedAt: number;
  expiresAt: number;
}
