import { join } from 'node:path';
import type { ImageRule } from '@skerry/images/image-map';
import { readSpareRoom } from '@skerry/runtime/room';
import type { CliError } from './cli-error.ts';
import type { ServerAddress } from './data-folder.ts';
import { requireUse } from './serving/folder-use.ts';
import { type HostOptions, openHost } from './serving/host.ts';
import { type ServingOptions, serve } from './serving/serve.ts';
import { openTemplateImages } from './template-images.ts';

export interface UpOptions extends HostOptions, ServingOptions {
  /** Sandboxes of the base template that are always started in advance, and the maximum under recent demand. */
  warm?: { min: number; max: number };
  /** The space for the results of steps of builds; 0: none are kept. */
  buildCacheMb: number;
  /** A build of a template that takes longer fails. */
  buildTimeoutMs: number;
  /** Authorities, `host[:port]`, of registries that builds may use at any address; others must be public. */
  allowedRegistries: readonly string[];
  /** What names of images mean to builds. */
  imageMap: readonly ImageRule[];
  /** URL of the API of ECR, which issues tokens for access keys of AWS; by default that of AWS for the region. */
  ecrEndpoint: string | undefined;
  /** What the files that builds copy may take together, in MiB. */
  maxContextMb: number;
}

export interface RunningServer {
  address: ServerAddress;
  /** Resolves with the reason when the server can no longer work and must be closed. Never rejects. */
  failed: Promise<CliError>;
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
  const host = await openHost(options);
  cleanup.defer(() => host.close());
  const { runtime, images, base, dataDir, imagesDir, failed } = host;
  const serving = await serve({ ...options, dataDir }, async () => ({
    runtime,
    images: {
      base,
      templates: openTemplateImages(images, {
        features: runtime.features,
        dataDir,
        allowedRegistries: options.allowedRegistries,
        ecrEndpoint: options.ecrEndpoint,
        imageMap: options.imageMap,
        keepsLayers: options.buildCacheMb > 0,
      }),
    },
    contexts: runtime.features.imageExport
      ? {
          folder: join(dataDir, 'contexts'),
          maxTotalBytes: options.maxContextMb * 2 ** 20,
          readSpareBytes,
        }
      : undefined,
    imports: runtime.features.imageExport ? { folder: join(dataDir, 'imports'), readSpareBytes } : undefined,
    folders: {
      templates: join(dataDir, 'templates'),
      layers: join(dataDir, 'layers'),
      baseImages: imagesDir,
      snapshots: join(dataDir, 'snapshots'),
      sandboxes: join(dataDir, 'sandboxes'),
    },
    limits: {
      buildCacheMb: options.buildCacheMb,
      buildTimeoutMs: options.buildTimeoutMs,
      ...(options.warm && { warmMin: options.warm.min, warmMax: options.warm.max }),
    },
  }));
  cleanup.defer(() => serving.close());

  const running = cleanup.move();
  return { address: serving.address, failed, close: () => running.disposeAsync() };
}

const readSpareBytes = (folder: string): number => readSpareRoom(folder).sizeBytes;
