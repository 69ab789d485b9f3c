import type { ImageRule } from '@skerry/images/image-map';
import { readSpareRoom } from '@skerry/runtime/room';

/** How a server builds templates. */
export interface BuildOptions {
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

/** The spare room of the file system of a folder. */
export const readSpareBytes = (folder: string): number => readSpareRoom(folder).sizeBytes;
