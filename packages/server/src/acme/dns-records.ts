/** Where the records appear by which an authority sees that a domain is ours. */
export interface DnsRecords {
  /** Adds a TXT record beside those that the name has. Rejects with `AcmeError`. */
  add(name: string, value: string, signal: AbortSignal): Promise<void>;
  /** Removes that record and no other one. Rejects with `AcmeError`. */
  remove(name: string, value: string, signal: AbortSignal): Promise<void>;
}
