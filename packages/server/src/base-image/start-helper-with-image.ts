import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type BaseImage, type BaseImageOptions, hasBaseFile, requestBaseImage } from '@skerry/images';
import type { Log } from '@skerry/platform';
import { type HelperOptions, type RemoteRuntime, startHelper } from '@skerry/runtime';
import { currentRootlessState } from '../host/current-rootless-state.ts';
import { toImageOptions } from '../host/rootless.ts';
import { completeBase } from './complete-base.ts';

export interface BaseImageRequest
  extends Pick<
    BaseImageOptions,
    'imagesDir' | 'contents' | 'npm' | 'registryImage' | 'onProgress' | 'signal'
  > {
  /** How the helper of the sandboxes is started. */
  helper: HelperOptions;
  log: Log;
}

/** The helper of the sandboxes, and what makes images later: in a rootless namespace another one, otherwise the same. */
export interface HelperWithImage {
  runtime: RemoteRuntime;
  images: RemoteRuntime['transport'];
  base: BaseImage;
  /** Ends what was started. */
  close(): Promise<void>;
}

/**
 * Starts the helper, and makes the base image where that is missing. Rejects as `startHelper` does, or with ImageError; no helper is
 * left then.
 *
 * Before the helper is ready, it proves what this host can do. A helper that only makes images works meanwhile when the image is
 * missing, and ends with it.
 *
 * An image of a registry that lacks packages gets them in a sandbox, when both helpers are ready.
 *
 * In a rootless namespace the helper works in a network of its own, from where the host's loopback is out of reach, and with it the
 * resolver of many hosts. There a helper in the host's network makes all images.
 */
export async function startHelperWithImage({
  helper,
  log,
  ...options
}: BaseImageRequest): Promise<HelperWithImage> {
  await using cleanup = new AsyncDisposableStack();
  const failing = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, failing.signal]) : failing.signal;
  const start = async (started: HelperOptions): Promise<RemoteRuntime> => {
    const remote = await startHelper({ ...started, signal });
    cleanup.defer(() => remote.close());
    return remote;
  };
  const request = (by: RemoteRuntime): Promise<BaseImage> =>
    requestBaseImage(by.transport, { ...options, ...toImageOptions(), signal });
  const makeApart = async (): Promise<BaseImage> => {
    const images = await startHelper({ ...(await toImageHelper(helper)), signal });
    try {
      return await request(images);
    } finally {
      await images.close();
    }
  };
  let made: Omit<HelperWithImage, 'close'>;
  if (currentRootlessState() === undefined) {
    const isMade = await hasBaseFile(options);
    const work = [start(helper), isMade ? Promise.resolve(undefined) : makeApart()] as const;
    for (const part of work) part.catch((error: unknown) => failing.abort(error));
    // Nothing of the other may be under way when this rejects.
    await Promise.allSettled(work);
    // The first failure: what it ended fails with less.
    failing.signal.throwIfAborted();
    const [runtime, base] = await Promise.all(work);
    made = { runtime, images: runtime.transport, base: base ?? (await request(runtime)) };
  } else {
    const images = await start(await toImageHelper(helper));
    const base = await request(images);
    made = { runtime: await start(helper), images: images.transport, base };
  }
  const base = await completeBase(made, { ...options, log, signal });
  const running = cleanup.move();
  return { ...made, base, close: () => running.disposeAsync() };
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
