import { join } from 'node:path';

/** Where tests keep base images and fetched programs, which take long to make: one folder for all servers of a checkout. */
export const imagesDir =
  process.env.SKERRY_IMAGES_DIR ?? join(import.meta.dirname, '../../../../.skerry/images');
