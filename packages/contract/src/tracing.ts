import type { IncomingMessage } from 'node:http';

export type SpanAttributes = Record<string, string | number | boolean>;

/** A piece of work in a trace. */
export interface Work {
  name: string;
  attributes?: SpanAttributes;
}

/** Work in progress in a trace. */
export interface OpenSpan {
  /** The header of W3C Trace Context that continues the trace below this work. */
  readonly traceparent: string;
  /** Adds work that another process has done for this one, and that is over now. */
  add(name: string, durationMs: number): void;
  /** Ends it, as failed with an error. Idempotent. */
  end(error?: unknown): void;
}

/** Records the traces of this process. */
export interface Tracer {
  /** Begins work for a request; undefined for a request that is not traced. */
  beginFor(request: IncomingMessage, work: Work): OpenSpan | undefined;
  /** Begins work below that which is in progress; undefined when none is. */
  begin(work: Work): OpenSpan | undefined;
  /** Runs a handler whose work belongs to the request, which gets the name of its operation. */
  inRequest<T>(request: IncomingMessage, operation: string, handle: () => T): T;
  /** Runs work that belongs to a span. */
  inSpan<T>(span: OpenSpan, work: () => T): T;
}

let tracer: Tracer | undefined;

/** Sets what records the traces of this process from now on. Without one, nothing is recorded, and no work is done for it. */
export const setTracer = (next: Tracer | undefined): void => {
  tracer = next;
};

/** Begins work for a request; undefined for a request that is not traced. The caller ends it. */
export const beginSpanFor = (request: IncomingMessage, describe: () => Work): OpenSpan | undefined =>
  tracer?.beginFor(request, describe());

/** Runs a handler whose work belongs to the request, which gets the name of its operation. */
export const inRequestSpan = <T>(request: IncomingMessage, operation: string, handle: () => T): T =>
  tracer === undefined ? handle() : tracer.inRequest(request, operation, handle);

/** Runs work as a part of that which is in progress, if that is traced. */
export const inSpan = async <T>(
  describe: () => Work,
  work: (span: OpenSpan | undefined) => Promise<T>,
): Promise<T> => {
  const span = tracer?.begin(describe());
  if (tracer === undefined || span === undefined) return work(undefined);
  try {
    const result = await tracer.inSpan(span, () => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
};
