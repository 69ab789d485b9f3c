import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type BaseImage, type BaseImageOptions, requestBaseImage } from '@skerry/images';
import { type HelperOptions, type RemoteRuntime, startHelper } from '@skerry/runtime';
import { currentRootlessState } from './current-rootless-state.ts';
import { toImageOptions } from './rootless.ts';

export interface BaseImageRequest
  extends Pick<
    BaseImageOptions,
    'imagesDir' | 'contents' | 'npm' | 'registryImage' | 'onProgress' | 'signal'
  > {
  /** How the helper of the sandboxes is started. */
  helper: HelperOptions;
}

/** The helper of the sandboxes, and what makes images: in a rootless namespace another one, otherwise the same. */
export interface HelperWithImage {
  runtime: RemoteRuntime;
  images: RemoteRuntime['transport'];
  base: BaseImage;
  /** Ends what was started. */
  close(): Promise<void>;
}

/**
 * Starts the helper and has it make the base image where that is missing. Rejects as
 * `startHelper` does, or with ImageError; no helper is left then.
 *
 * In a rootless namespace the helper works in a network of its own, from where the host's loopback is out of reach, and with it the
 * resolver of many hosts. There a helper in the host's network makes all images.
 */
export async function startHelperWithImage({
  helper,
  ...options
}: BaseImageRequest): Promise<HelperWithImage> {
  await using cleanup = new AsyncDisposableStack();
  const start = async (started: HelperOptions): Promise<RemoteRuntime> => {
    const remote = await startHelper(started);
    cleanup.defer(() => remote.close());
    return remote;
  };
  const request = (by: RemoteRuntime): Promise<BaseImage> =>
    requestBaseImage(by.transport, { ...options, ...toImageOptions() });
  let made: Omit<HelperWithImage, 'close'>;
  if (currentRootlessState() === undefined) {
    const runtime = await start(helper);
    made = { runtime, images: runtime.transport, base: await request(runtime) };
  } else {
    const images = await start(await toImageHelper(helper));
    const base = await request(images);
    made = { runtime: await start(helper), images: images.transport, base };
  }
  const running = cleanup.move();
  return { ...made, close: () => running.disposeAsync() };
}

/** The options of a helper that makes images beside that of the sandboxes, with a socket of its own. */
async function toImageHelper({
  faultLimit: _limit,
  rootless: _rootless,
  dataDir,
  ...plain
}: HelperOptions): Promise<HelperOptions> {
  const own = join(dataDir, 'run', 'images');
  await mkdir(join(own, 'run'), { recursive: true, mode: 0o700 });
  return { ...plain, dataDir: own, driver: { name: 'memory' } };
}
