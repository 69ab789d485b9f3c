import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type Tracer as SpanSource,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { requestIdOf } from '@skerry/contract/request-id';
import type { OpenSpan, SpanAttributes, Tracer, Work } from '@skerry/contract/tracing';
import { answerOf, type HostRules } from '@skerry/edge';
import { toPlace, toStatus } from '../log/access/access-log.ts';
import { toShownPath } from '../log/access/shown-path.ts';

/** Records requests and the work for them as spans of OpenTelemetry. */
export interface RequestTraces extends Tracer {
  /** Begins the span of a request, which ends when its answer, or the connection of an upgraded one, has closed. */
  beginRequest(request: IncomingMessage, answer: ServerResponse | Duplex): void;
  /** Lets the span of a request continue the trace in its header: its caller has shown a key. Others begin a trace of their own. */
  trustCaller(request: IncomingMessage): void;
}

/** Creates what records requests with spans of that source. */
export const createRequestTraces = (source: SpanSource, rules: HostRules): RequestTraces => {
  /** Begin the span of a request when that is first needed, at the time of the request: whom to trust is known later. */
  const requests = new WeakMap<IncomingMessage, (parent?: SpanContext) => Span>();
  const active = new AsyncLocalStorage<Span>();

  const start = (
    parent: Span,
    { name, attributes = {}, kind = SpanKind.CLIENT }: Work & { kind?: SpanKind },
    startTime?: number,
  ): Span =>
    source.startSpan(
      name,
      { kind, attributes, ...(startTime !== undefined && { startTime }) },
      trace.setSpan(ROOT_CONTEXT, parent),
    );

  const spans = new WeakMap<OpenSpan, Span>();
  const open = (parent: Span | undefined, work: Work): OpenSpan | undefined => {
    if (parent === undefined) return undefined;
    const span = start(parent, work);
    let hasEnded = false;
    const opened: OpenSpan = {
      traceparent: toTraceparent(span),
      add(name, durationMs) {
        const now = Date.now();
        start(span, { name, kind: SpanKind.INTERNAL }, now - durationMs).end(now);
      },
      end(error) {
        if (hasEnded) return;
        hasEnded = true;
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
    spans.set(opened, span);
    return opened;
  };

  return {
    beginRequest(request, answer) {
      const startTime = Date.now();
      const { host, sandboxId, port } = toPlace(request, rules);
      const attributes: SpanAttributes = {
        'http.request.method': request.method ?? '',
        'url.path': toShownPath(request.url ?? '', host),
        'network.protocol.version': request.httpVersion,
        'skerry.host': host,
        'skerry.request_id': requestIdOf(request),
        ...(sandboxId !== undefined && { 'skerry.sandbox_id': sandboxId }),
        ...(port !== undefined && { 'skerry.port': port }),
      };
      let begun: Span | undefined;
      const begin = (parent?: SpanContext): Span =>
        (begun ??= source.startSpan(
          `${request.method} ${host}`,
          { kind: SpanKind.SERVER, attributes, startTime },
          parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
        ));
      requests.set(request, begin);
      answer.once('close', () => {
        const span = begin();
        const { status } = toStatus('statusCode' in answer ? answer : answerOf(request));
        if (status !== undefined) span.setAttribute('http.response.status_code', status);
        if (status === undefined || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      });
    },
    trustCaller: (request) => void requests.get(request)?.(parseTraceparent(request.headers.traceparent)),
    beginFor: (request, work) => open(requests.get(request)?.(), work),
    begin: (work) => open(active.getStore(), work),
    inRequest(request, operation, handle) {
      const span = requests.get(request)?.();
      if (span === undefined) return handle();
      span.updateName(operation);
      span.setAttribute('http.route', operation.slice(operation.indexOf(' ') + 1));
      return active.run(span, handle);
    },
    inSpan(opened, work) {
      const span = spans.get(opened);
      return span === undefined ? work() : active.run(span, work);
    },
  };
};

const toTraceparent = (span: Span): string => {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
};

/** W3C Trace Context, 3.2. Version ff is invalid, later versions may have more behind the flags. */
const form = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

const parseTraceparent = (header: string | string[] | undefined): SpanContext | undefined => {
  const [, version = '', traceId, spanId, flags = '', rest] = form.exec(String(header ?? '')) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && rest !== undefined))
    return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
};
