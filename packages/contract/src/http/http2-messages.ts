/** The error of a body whose client has reset the stream. HTTP/1 has the same one for a closed connection. */
const toAbortError = (): Error => Object.assign(new Error('aborted'), { code: 'ECONNRESET' });

/**
 * Node's own compatibility layer treats a reset stream as the end of the body, so half an upload would look whole, and ends an
 * aborted response like a complete one. An unread rest of a body keeps its stream open. A body of which nothing was read
 * resets the stream together with its answer. These two classes behave as those of HTTP/1. The module is given, because some
 * programs load it only when they need it.
 */
export const createMessages = ({ Http2ServerRequest, Http2ServerResponse }: typeof import('node:http2')) => {
  class Request extends Http2ServerRequest {
    constructor(...args: ConstructorParameters<typeof Http2ServerRequest>) {
      super(...args);
      // A reader gets the error itself; without a reader it must not count as unhandled.
      this.on('error', () => undefined);
      this.stream.once('aborted', () => this.destroy(toAbortError()));
    }
  }
  class Response extends Http2ServerResponse {
    override end(...args: unknown[]): this {
      // Removing a listener that is absent would stop a stream that is being drained.
      if (this.req.listenerCount('readable') > 0) this.req.removeAllListeners('readable');
      this.req.resume();
      return Reflect.apply(super.end, this, args);
    }
    override destroy(error: Error = new Error('the response was aborted')): this {
      this.stream.destroy(error);
      return this;
    }
  }
  // Node's response has no such property; the types promise a field, which an accessor may not replace.
  Object.defineProperty(Response.prototype, 'destroyed', {
    get(this: Response): boolean {
      return this.stream.destroyed;
    },
  });
  return { Http2ServerRequest: Request, Http2ServerResponse: Response };
};
