import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createQuietLog } from '@skerry/contract/quiet-log';
import { setTracer } from '@skerry/contract/tracing';
import type { HostRules } from '@skerry/edge';
import type { Log } from '@skerry/platform';
import { createRequestTraces, type RequestTraces } from './request-traces.ts';

/** How long the last spans may take to be sent at the end of the server. */
const LAST_MS = 2_000;

export interface Tracing extends Pick<RequestTraces, 'beginRequest' | 'trustCaller'> {
  /** Sends what is recorded, for two seconds at most, and records nothing more. */
  close(): Promise<void>;
}

/**
 * Records the requests of this process, and sends them to an OTLP receiver: at `/v1/traces` of the endpoint, or where the variables of
 * OpenTelemetry say. A receiver that is down or slow costs spans, and no time of requests.
 */
export const openTracing = (
  { endpoint, log }: { endpoint: string | undefined; log: Pick<Log, 'warn'> },
  rules: HostRules,
): Tracing => {
  const warn = createQuietLog({ warn: (message, fields) => log.warn(message, fields) });
  const note = (message: string): void => warn('traces could not be sent', { reason: message });
  const ignore = (): void => {};
  diag.setLogger(
    { error: note, warn: note, info: ignore, debug: ignore, verbose: ignore },
    DiagLogLevel.WARN,
  );
  const exporter = new OTLPTraceExporter(
    endpoint === undefined ? {} : { url: `${endpoint.replace(/\/+$/, '')}/v1/traces` },
  );
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'skerry' }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: 1_000 })],
  });
  const traces = createRequestTraces(provider.getTracer('skerry'), rules);
  setTracer(traces);
  return {
    beginRequest: traces.beginRequest,
    trustCaller: traces.trustCaller,
    close: async () => {
      setTracer(undefined);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LAST_MS);
      });
      await Promise.race([late, provider.shutdown().catch((error: unknown) => note(String(error)))]);
      clearTimeout(timer);
    },
  };
};
