/** A plain HTTP response instead of one of the Connect protocol; the `cause` of the `ConnectError` made from it. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  /** The parsed JSON body, or its text when it is not JSON. */
  readonly body: unknown;
  /** The address of a redirect, which was not followed. */
  readonly location: string | undefined;

  constructor(status: number, body: unknown, location?: string) {
    super(
      location === undefined
        ? (messageOf(body) ?? `HTTP ${status}`)
        : `HTTP ${status}: a redirect to ${location}, which is not followed`,
    );
    this.status = status;
    this.body = body;
    this.location = location;
  }
}

function messageOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body.trim().slice(0, 200) || undefined;
  if (typeof body !== 'object' || body === null || !('message' in body)) return undefined;
  return typeof body.message === 'string' ? body.message : undefined;
}
