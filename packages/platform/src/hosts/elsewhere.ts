/** A call has to be made at another server, which owns what it is for. */
export class ElsewhereError extends Error {
  /** `host:port` of that server. */
  readonly address: string;

  constructor(address: string) {
    super(`the call is for the server at ${address}`);
    this.name = 'ElsewhereError';
    this.address = address;
  }
}
