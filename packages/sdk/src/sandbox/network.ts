import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';

/**
 * What a sandbox may reach, by IPv4 addresses, ranges such as `203.0.113.0/24`, and names. `allow` outranks `deny`, and what neither contains is
 * allowed: `{ deny: ['0.0.0.0/0'], allow: ['1.1.1.1'] }` leaves one address. `allow` may have names where `deny` has `0.0.0.0/0`:
 * `api.example.com`, or `*.example.com` for all names below one. Names are reached with TLS and HTTP, on ports 443 and 80. Private networks
 * are never reachable.
 */
export interface NetworkRules {
  allow?: readonly string[] | undefined;
  deny?: readonly string[] | undefined;
}

/**
 * Converts rules to the fields of the protocol.
 *
 * @internal
 */
export const toNetworkFields = ({
  allow,
  deny,
}: NetworkRules): { allowOut?: string[]; denyOut?: string[] } => ({
  ...(allow && { allowOut: [...allow] }),
  ...(deny && { denyOut: [...deny] }),
});

/** The outgoing connections of a sandbox. */
export class SandboxNetwork {
  readonly #connection: Connection;
  readonly #sandboxId: string;

  /** @internal */
  constructor(connection: Connection, sandboxId: string) {
    this.#connection = connection;
    this.#sandboxId = sandboxId;
  }

  /**
   * Replaces all rules of the running sandbox, and those of its create. They hold when this resolves: a TCP connection that they deny is
   * reset by its next packet. Without lists, everything but private networks is open again. Rejects with `InvalidArgumentError` for an entry
   * that is neither an address nor a name, and `NotFoundError` while the sandbox is paused.
   */
  async set(rules: NetworkRules, options: CallOptions = {}): Promise<void> {
    await callApi(this.#connection, options, (api, signal) =>
      api.PUT('/sandboxes/{sandboxID}/network', {
        params: { path: { sandboxID: this.#sandboxId } },
        body: toNetworkFields(rules),
        signal,
      }),
    );
  }
}
