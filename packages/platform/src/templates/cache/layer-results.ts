import type { TemplateImages } from '../../images/template-images.ts';
import type { CacheEntry } from '../../store/cache/cache-rows.ts';

/** The length of keys in `key-chain.ts`. */
const KEY_LENGTH = 32;

/** The layers that are kept for later pulls, as results of builds; none where images cannot be pulled. */
export const listLayers = async (
  images: Pick<TemplateImages, 'listLayers'> | undefined,
): Promise<{ digest: string; result: CacheEntry & { sizeBytes: number } }[]> =>
  ((await images?.listLayers()) ?? []).map(({ digest, ...layer }) => ({
    digest,
    result: {
      key: digest.slice(digest.indexOf(':') + 1).slice(0, KEY_LENGTH),
      parent: null,
      description: `layer ${digest}`,
      snapshotId: null,
      image: null,
      imageBytes: null,
      config: null,
      isImageShared: false,
      ...layer,
    },
  }));
