/** How a server gets its certificate from an ACME authority. */
export interface AcmeOptions {
  /** The address of the authority's directory. */
  directoryUrl: string;
  /** Where the authority can reach the operator. */
  email?: string | undefined;
  /** What sets the records of challenges: a program, or the DNS server itself with the file of its key. */
  challenge: { hook: string } | { server: { host: string; port: number }; keyFile: string };
  /** How long the servers of the zone take to have a new record. */
  waitMs: number;
}
