import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface BaseImage {
  /** Absolute path: of the unpacked file system, or of the file that contains it. Neither is ever written to. */
  rootfs: string;
  /** The digest of the content, or of the file: `sha256:` and 64 hex digits. */
  digest: string;
  /** The packages that it lacks, beside an image of a registry: it is no base template before a sandbox has installed them. */
  missing: readonly string[];
}

/** `manifest.json` beside the root file system: its content and origin. */
export interface ImageManifest {
  name: string;
  recipe: string;
  source: ImageSource;
  /** ISO 8601. */
  createdAt: string;
  /** The digest of the content, see digestTree. */
  digest: string;
  fileCount: number;
  sizeBytes: number;
  /** Packages that the image lacks, as in `BaseImage`. */
  missing: readonly string[];
}

export type ImageSource =
  | { kind: 'registry'; reference: string; manifestDigest: string }
  | { kind: 'packages'; distribution: string; codename: string };

/** Reads the manifest of an image's folder; undefined when there is none or it is not a valid one for this recipe. */
export async function readManifest(folder: string, recipe: string): Promise<ImageManifest | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, 'manifest.json'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const manifest = JSON.parse(text) as ImageManifest;
    return manifest.recipe === recipe && /^sha256:[0-9a-f]{64}$/.test(manifest.digest) ? manifest : undefined;
  } catch {
    return undefined; // Damaged: the caller makes the image again.
  }
}
