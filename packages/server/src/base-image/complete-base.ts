import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import {
  type BaseImage,
  type BaseImageOptions,
  completingPrefix,
  ImageError,
  requestCompletion,
  toInstallScript,
} from '@skerry/images';
import { FailedScriptError, type Log, rebuildImage } from '@skerry/platform';
import type { RemoteRuntime } from '@skerry/runtime';
import { toImageOptions } from '../host/rootless.ts';

/**
 * Returns the base image; one that lacks packages gets them first, in a sandbox: installing runs programs of the image. Rejects with
 * ImageError, the reason of `signal`, or what the runtime fails with; the next start begins with the incomplete image then.
 */
export async function completeBase(
  { base, runtime, images }: { base: BaseImage; runtime: RemoteRuntime; images: RemoteRuntime['transport'] },
  {
    log,
    signal,
    onProgress,
    ...request
  }: Pick<BaseImageOptions, 'imagesDir' | 'contents' | 'registryImage' | 'onProgress'> & {
    log: Log;
    signal: AbortSignal;
  },
): Promise<BaseImage> {
  const { rootfs, missing } = base;
  if (missing.length === 0) return base;
  if (!runtime.features.imageExport)
    throw new ImageError(
      'unsuitable_image',
      `the image lacks ${missing.join(', ')}, and this host cannot install them in a sandbox`,
      { remedy: 'name an image that has them' },
    );
  onProgress({ phase: 'install', message: `installing ${missing.join(', ')} in a sandbox`, fraction: 0.9 });
  const { asFile } = toImageOptions();
  const path = join(request.imagesDir, `${completingPrefix}${randomUUID()}${asFile ? '.ext4' : ''}`);
  const script = toInstallScript(request.contents, missing);
  const { digest } = await rebuildImage({ runtime, rootfs, script, path, log, signal }).catch(
    (error: unknown): never => {
      if (!(error instanceof FailedScriptError)) throw error;
      throw new ImageError(
        'build_failed',
        `installing ${missing.join(', ')} in a sandbox failed: ${error.message}`,
        { remedy: 'name an image that has them, or one whose apt sources a sandbox reaches' },
      );
    },
  );
  const completed = await requestCompletion(images, { ...request, asFile, image: path, digest });
  onProgress({ phase: 'finish', message: 'the base image is ready', fraction: 1 });
  return completed;
}
