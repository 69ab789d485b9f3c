import { type IncomingMessage, ServerResponse } from 'node:http';

/** How long a connection that is to close still takes the rest of a request after its answer. */
export const LINGER_MS = 5000;

/**
 * A response that ends its connection only after the rest of its request has come, or `LINGER_MS` later. Its bytes leave at once.
 * A connection that closes before is reset by the kernel with the next bytes of the client, which then loses the answer: it sees a
 * broken connection instead of a refused upload (RFC 9112, 9.6).
 */
export class LingeringResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  #isLingering = false;

  override end(...given: unknown[]): this {
    const request = this.req;
    if (this.#isLingering) return this;
    if (this.shouldKeepAlive || request.complete || request.destroyed || this.writableEnded)
      return super.end(...(given as [unknown]));
    this.#isLingering = true;
    // The forms of `end`: (body, encoding, callback), each of which may be absent.
    const callback = given.findLast((value) => typeof value === 'function');
    const [body, encoding] = given.filter((value) => value !== callback);
    if (body === undefined || body === null) this.flushHeaders();
    else super.write(body, encoding as BufferEncoding);
    const finish = (): void => {
      clearTimeout(timer);
      request.off('close', finish);
      super.end(callback as () => void);
    };
    const timer = setTimeout(finish, LINGER_MS).unref();
    // Emitted after the last byte as well as when the client has gone.
    request.once('close', finish);
    request.unpipe();
    request.resume();
    return this;
  }
}
