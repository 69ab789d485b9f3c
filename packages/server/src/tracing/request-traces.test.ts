import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SpanStatusCode } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { inRequestSpan, inSpan, setTracer } from '@skerry/contract/tracing';
import { afterEach, expect, it } from 'vitest';
import { createRequestTraces } from './request-traces.ts';

afterEach(() => setTracer(undefined));

const open = () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const traces = createRequestTraces(provider.getTracer('test'), { domain: 'example.test', sharedHosts: [] });
  setTracer(traces);
  const begin = (headers: Record<string, string> = {}) => {
    const request = {
      method: 'GET',
      url: '/x?token=secret',
      httpVersion: '1.1',
      headers,
    } as unknown as IncomingMessage;
    const answer = Object.assign(new EventEmitter(), { statusCode: 200, headersSent: true });
    traces.beginRequest(request, answer as unknown as ServerResponse);
    return { request, answer };
  };
  const beginTrusted = (traceparent: string) => {
    const begun = begin({ traceparent });
    traces.trustCaller(begun.request);
    return begun;
  };
  const spans = () => exporter.getFinishedSpans();
  return { begin, beginTrusted, spans };
};

const trace = 'ab'.repeat(16);
const parent = 'cd'.repeat(8);

it.each([
  [`00-${trace}-${parent}-01`, trace, parent],
  [`01-${trace}-${parent}-01-more`, trace, parent],
  [`00-${trace}-${parent}-01-more`, undefined, undefined],
  [`ff-${trace}-${parent}-01`, undefined, undefined],
  [`00-${'0'.repeat(32)}-${parent}-01`, undefined, undefined],
  [`00-${trace}-${'0'.repeat(16)}-01`, undefined, undefined],
  [`00-${trace.toUpperCase()}-${parent}-01`, undefined, undefined],
  ['', undefined, undefined],
])(
  'continues the trace of the header %s of a caller with a key, if that is valid',
  (traceparent, traceId, spanId) => {
    const { beginTrusted, spans } = open();
    beginTrusted(traceparent).answer.emit('close');
    const [span] = spans();
    if (traceId === undefined) expect(span?.spanContext().traceId).not.toBe(trace);
    else expect(span?.spanContext().traceId).toBe(traceId);
    expect(span?.parentSpanContext?.spanId).toBe(spanId);
    expect(JSON.stringify(span?.attributes)).not.toContain('secret');
  },
);

it('records work below the request that it is for, with its failure, and nothing outside of a request', async () => {
  const { begin, spans } = open();
  await inSpan(
    () => ({ name: 'background' }),
    async (span) => expect(span).toBeUndefined(),
  );
  const { request, answer } = begin();
  const failure = new Error('no');
  await inRequestSpan(request, 'POST /things', () =>
    inSpan(
      () => ({ name: 'outer' }),
      async (span) => {
        span?.add('elsewhere', 5);
        await inSpan(
          () => ({ name: 'inner' }),
          () => Promise.reject(failure),
        ).catch((error: unknown) => expect(error).toBe(failure));
      },
    ),
  );
  answer.emit('close');
  const of = (name: string) => spans().find((span) => span.name === name);
  expect(spans().map(({ name }) => name)).toEqual(['elsewhere', 'inner', 'outer', 'POST /things']);
  expect(of('inner')?.parentSpanContext?.spanId).toBe(of('outer')?.spanContext().spanId);
  expect(of('elsewhere')?.parentSpanContext?.spanId).toBe(of('outer')?.spanContext().spanId);
  expect(of('outer')?.parentSpanContext?.spanId).toBe(of('POST /things')?.spanContext().spanId);
  expect([of('inner')?.status.code, of('outer')?.status.code]).toEqual([
    SpanStatusCode.ERROR,
    SpanStatusCode.UNSET,
  ]);
});

it('begins a trace for a caller without a key, whatever its header says', () => {
  const { begin, spans } = open();
  for (const flags of ['00', '01'])
    begin({ traceparent: `00-${trace}-${parent}-${flags}` }).answer.emit('close');
  expect(spans().map((span) => span.parentSpanContext)).toEqual([undefined, undefined]);
  expect(spans().map((span) => span.spanContext().traceId)).not.toContain(trace);
});

it('records nothing for a trace that its caller does not sample', () => {
  const { beginTrusted, spans } = open();
  beginTrusted(`00-${trace}-${parent}-00`).answer.emit('close');
  expect(spans()).toEqual([]);
});
