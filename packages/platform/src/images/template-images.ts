import type { Readable } from 'node:stream';
import type { RunConfig } from '../store/build-rows.ts';
import type { ImageConfig } from '../store/cache/cache-rows.ts';

/** Where the images of templates are, and what makes them. */
export interface TemplateImages {
  /** Throws `UnusableImageError` for what is no image reference. */
  check(reference: string): void;
  /** What a name of an image means on this server; undefined: the image that it names. */
  findTarget(reference: string): ImageTarget | undefined;
  /**
   * Makes an image from one of a registry and resolves when it is durable. Rejects with `UnusableImageError` when the
   * image or its registry is at fault, and otherwise with any error.
   */
  make(options: {
    reference: string;
    credentials?: RegistryCredentials | undefined;
    /** Whether all layers are requested from the registry, also those that are kept. */
    refresh: boolean;
    onMessage: (message: string) => void;
    signal: AbortSignal;
  }): Promise<RegistryImage>;
  /**
   * What `make` would report as its origin now: equal for equal images. Makes nothing, and asks the registry with the
   * credentials. Rejects as `make`.
   */
  findOrigin(options: {
    reference: string;
    credentials?: RegistryCredentials | undefined;
    signal: AbortSignal;
  }): Promise<string>;
  /** Makes an image from one in the archive at a path. Rejects as `make` does. */
  load(options: {
    archive: string;
    /** The name or the digest of one in it; by default it must have one alone. */
    image: string | undefined;
    onMessage: (message: string) => void;
    signal: AbortSignal;
  }): Promise<Omit<RegistryImage, 'origin'>>;
  /**
   * An image file as an archive of an OCI image layout of that many bytes, with that config and that name. The caller
   * reads the archive or destroys it. Rejects as `make` does. Undefined where images cannot be saved.
   */
  save:
    | ((options: {
        image: string;
        config: RunConfig;
        name: string;
        tag: string;
        signal: AbortSignal;
      }) => Promise<{ archive: Readable; sizeBytes: number }>)
    | undefined;
  /** The path of an image, as an instance needs it. */
  toPath(digest: string): string;
  /**
   * The digests of all images. Call it before anything else. Removes incomplete images: none may be in the making.
   */
  list(): Promise<string[]>;
  /** Idempotent. */
  remove(digest: string): Promise<void>;
  /** The layers of images of registries that are kept for later pulls, in any order. */
  listLayers(): Promise<KeptLayer[]>;
  /** Idempotent. A pull that reads it goes on. */
  removeLayer(digest: string): Promise<void>;
}

/** Where a host keeps the images that its runtime writes. */
export interface ImageFolder {
  /** The path at which the runtime writes a new image of that name, which `keep` then moves to its place. */
  toUnfinished(name: string): string;
  keep(options: { file: string; digest: string }): Promise<void>;
}

/** Makes and keeps the images of templates on one host. The port of the platform; the composition root implements it. */
export type HostImages = TemplateImages & ImageFolder;

/** A layer of an image, as its registry has it. */
export interface KeptLayer {
  digest: string;
  /** The space that it takes. */
  sizeBytes: number;
  createdAt: number;
  /** When a pull last needed it. */
  lastUsedAt: number;
}

/** A template, by name, or an image of another registry. */
export type ImageTarget = { kind: 'template'; name: string } | { kind: 'image'; reference: string };

/** An image that was made from one of a registry. */
export interface RegistryImage extends ImageConfig {
  digest: string;
  sizeBytes: number;
  origin: string;
}

/** The image of the base template, which every installation has. */
export interface InstallationImage {
  /** Absolute path. */
  rootfs: string;
  /** The digest of the image's content. */
  digest?: string;
}

/**
 * A user name and a password for the registry, or an access key of AWS, with which a token for registries of ECR in that region is
 * requested. Sent there only: never logged, stored or returned.
 */
export type RegistryCredentials =
  | { kind: 'password'; username: string; password: string }
  | { kind: 'aws'; accessKeyId: string; secretAccessKey: string; region: string };

/** An image cannot be pulled or used. The message is for the caller. */
export class UnusableImageError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UnusableImageError';
  }
}
