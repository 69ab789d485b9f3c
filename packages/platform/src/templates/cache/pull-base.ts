import type { TemplateImages } from '../../images/template-images.ts';
import type { ImageConfig } from '../../store/cache/cache-rows.ts';
import type { BuildSource } from '../build-plan.ts';
import type { BuildCache } from './build-cache.ts';
import { type BaseWork, findBase } from './find-base.ts';
import { toCacheKey } from './key-chain.ts';

/** An image with which a build begins. */
export interface PulledBase {
  image: string;
  imageBytes: number;
  config: ImageConfig;
  cacheKey: string;
}

/**
 * Resolves with the image of a registry as the file of a template: one of the cache, when the registry still has the
 * same under that name, or one that another build is making now; otherwise, and with `force`, it is pulled. The registry is asked with the
 * credentials in any case. Rejects with `UnusableImageError`, the reason of `signal`, or any error of the making.
 */
export const pullBase = async (
  { reference, credentials }: Extract<BuildSource, { kind: 'image' }>,
  work: BaseWork,
  { images, cache, secret }: { images: TemplateImages; cache: BuildCache; secret: string },
): Promise<PulledBase> => {
  const { log, share, signal, force } = work;
  const addLine = (message: string, level: 'debug' | 'info' = 'info'): void =>
    log.add({ level, message, step: 'base' });
  const toKey = (origin: string): string => toCacheKey(secret, ['image', origin]);
  const key = toKey(await images.findOrigin({ reference, credentials, signal }));
  const found = await findBase(key, { ...work, work: 'pulls the same image', cache });
  const { image = null, imageBytes = null, config = null } = found ?? {};
  if (image !== null && imageBytes !== null && config !== null) {
    addLine(`CACHED FROM ${reference}`);
    addLine(`taken: the files are those of the result ${key}`, 'debug');
    return { image, imageBytes, config, cacheKey: key };
  }
  const reason = force ? 'the build is forced' : 'the image was not pulled before, or has changed';
  addLine(`not CACHED ${key}: ${reason}`, 'debug');
  const { origin, digest, sizeBytes, ...made } = await images.make({
    ...{ reference, credentials, refresh: force, signal },
    onMessage: (message) => addLine(message),
  });
  const pulled = { image: digest, imageBytes: sizeBytes, config: made };
  // The name may have been given to another image meanwhile.
  const cacheKey = toKey(origin);
  await cache.keepBase(pulled, { key: cacheKey, description: `FROM ${reference}` });
  share.done(key);
  return { ...pulled, cacheKey };
};
