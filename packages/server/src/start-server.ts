import { join } from 'node:path';
import { createOneMachine } from '@skerry/platform';
import type { ServerAddress } from './data-folder/data-folder.ts';
import { requireUse } from './data-folder/folder-use.ts';
import { openHostMetrics } from './prometheus/open-host-metrics.ts';
import { type BuildOptions, readSpareBytes } from './serving/build-options.ts';
import { type HostOptions, openHost } from './serving/host.ts';
import { type Serving, type ServingOptions, serve } from './serving/serve.ts';
import { openTemplateImages } from './serving/template-images.ts';
import type { WarmCounts } from './serving/warm-counts.ts';
import type { UserError } from './user-error.ts';

export interface UpOptions extends Omit<HostOptions, 'ports'>, ServingOptions, BuildOptions {
  warm: WarmCounts;
}

export interface RunningServer extends Pick<Serving, 'drain'> {
  address: ServerAddress;
  /** Resolves with the reason when the server can no longer work and must be closed. Never rejects. */
  failed: Promise<UserError>;
  /** Stops serving. Sandboxes live on, and the next server of the folder finds them. */
  close(): Promise<void>;
}

/**
 * Composes the whole service: one data folder, one helper process that makes sandboxes, one port for API and edge.
 * Resolves when requests are served. Rejects, with nothing left running, when the folder is in use or a part cannot
 * start.
 */
export async function startServer(options: UpOptions): Promise<RunningServer> {
  requireUse(options.dataDir, 'up');
  await using cleanup = new AsyncDisposableStack();
  const { metricsListen } = options;
  const ports = [
    { option: '--port', host: options.host, port: options.port },
    ...(options.httpRedirectPort === undefined
      ? []
      : [{ option: '--http-redirect', host: options.host, port: options.httpRedirectPort }]),
    ...(metricsListen ? [{ option: '--metrics-listen', ...metricsListen }] : []),
  ];
  const host = await openHost({ ...options, ports });
  cleanup.defer(() => host.close());
  const { runtime, images, base, dataDir, imagesDir, failed } = host;
  const metrics = metricsListen && (await openHostMetrics(metricsListen, host, options));
  cleanup.defer(async () => metrics?.close());
  const templates = openTemplateImages(images, {
    features: runtime.features,
    dataDir,
    allowedRegistries: options.allowedRegistries,
    ecrEndpoint: options.ecrEndpoint,
    imageMap: options.imageMap,
    keepsLayers: options.buildCacheMb > 0,
  });
  const folders = {
    templates: join(dataDir, 'templates'),
    layers: join(dataDir, 'layers'),
    baseImages: imagesDir,
    snapshots: join(dataDir, 'snapshots'),
    sandboxes: join(dataDir, 'sandboxes'),
  };
  const serving = await serve({ ...options, dataDir, metrics }, async () => ({
    hosts: createOneMachine({ runtime, images: templates, folders }),
    images: { base, templates },
    buildFiles: runtime.features.imageExport
      ? {
          folder: join(dataDir, 'contexts'),
          maxTotalBytes: options.maxContextMb * 2 ** 20,
          readSpareBytes,
        }
      : undefined,
    imports: runtime.features.imageExport ? { folder: join(dataDir, 'imports'), readSpareBytes } : undefined,
    mountCaches: runtime.features.imageExport
      ? { folder: join(dataDir, 'mount-caches'), readSpareBytes }
      : undefined,
    limits: {
      buildCacheMb: options.buildCacheMb,
      buildTimeoutMs: options.buildTimeoutMs,
      warmMin: options.warm.min,
      warmMax: options.warm.max,
    },
  }));
  cleanup.defer(() => serving.close());

  const running = cleanup.move();
  return { address: serving.address, failed, drain: serving.drain, close: () => running.disposeAsync() };
}
