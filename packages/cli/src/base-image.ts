import { type BaseImage, type BaseImageOptions, requestBaseImage } from '@skerry/images';
import { type HelperOptions, type RemoteRuntime, startHelper } from '@skerry/runtime';
import { currentRootlessState } from './current-rootless-state.ts';
import { toImageOptions } from './rootless.ts';

export interface BaseImageRequest
  extends Pick<BaseImageOptions, 'imagesDir' | 'registryImage' | 'onProgress' | 'signal'> {
  /** How the helper of the sandboxes is started. */
  helper: HelperOptions;
}

/**
 * Starts the helper and has it make the base image where that is missing. Rejects as `startHelper` does, or with ImageError; no helper
 * is left then.
 *
 * In a rootless namespace the helper works in a network of its own, from where the host's loopback is out of reach, and with it the
 * resolver of many hosts. There a helper in the host's network makes the image, and ends before the other starts.
 */
export async function startHelperWithImage({
  helper,
  ...options
}: BaseImageRequest): Promise<{ runtime: RemoteRuntime; base: BaseImage }> {
  const request = (by: RemoteRuntime): Promise<BaseImage> =>
    requestBaseImage(by.transport, { ...options, ...toImageOptions() });
  const { faultLimit: _limit, onFault: _onFault, rootless: _rootless, ...plain } = helper;
  const base =
    currentRootlessState() === undefined
      ? undefined
      : await withHelper({ ...plain, driver: { name: 'memory' } }, request);

  const runtime = await startHelper(helper);
  try {
    return { runtime, base: base ?? (await request(runtime)) };
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

async function withHelper<T>(
  options: HelperOptions,
  use: (runtime: RemoteRuntime) => Promise<T>,
): Promise<T> {
  const runtime = await startHelper(options);
  try {
    return await use(runtime);
  } finally {
    await runtime.close();
  }
}
