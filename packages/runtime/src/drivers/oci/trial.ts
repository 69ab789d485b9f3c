import { createOci, type OciOptions } from './oci.ts';
import type { TryPrograms } from './opened-levels.ts';

/** Returns what tries programs in a data folder that no other driver uses. */
export const createTrial =
  (options: OciOptions): TryPrograms =>
  async (programs, use) => {
    const runtime = createOci({ ...options, ...programs });
    try {
      return await use(runtime);
    } finally {
      await runtime.close();
    }
  };
