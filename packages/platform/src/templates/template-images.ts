/** Makes and keeps the images of templates. The port of the platform; the composition root implements it. */
export interface TemplateImages {
  /** Throws `UnusableImageError` for what is no image reference. */
  check(reference: string): void;
  /**
   * Makes an image from one of a registry and resolves when it is durable. Rejects with `UnusableImageError` when the
   * image or its registry is at fault, and otherwise with any error.
   */
  make(options: {
    reference: string;
    credentials?: RegistryCredentials | undefined;
    onMessage: (message: string) => void;
    signal: AbortSignal;
  }): Promise<{ digest: string; sizeBytes: number } & ImageConfig>;
  /** The path at which to write a new image of that name, which `keep` then moves to its place. */
  toUnfinished(name: string): string;
  keep(options: { file: string; digest: string }): Promise<void>;
  /** The path of an image, as an instance needs it. */
  toPath(digest: string): string;
  /**
   * The digests of all images. Call it before anything else. Removes incomplete images: none may be in the making.
   */
  list(): Promise<string[]>;
  /** Idempotent. */
  remove(digest: string): Promise<void>;
}

/** What the author of an image wants for its processes. */
export interface ImageConfig {
  env: Record<string, string>;
  /** A name or a number, optionally with `:` and a group. Empty: root. */
  user: string;
  /** Absolute, or empty for `/`. */
  workdir: string;
  /** The words of its command, which begin with those of the entry point. */
  entrypoint: string[];
  command: string[];
}

/** Sent to the registry only: never logged, stored or returned. */
export interface RegistryCredentials {
  username: string;
  password: string;
}

/** An image cannot be pulled or used. The message is for the caller. */
export class UnusableImageError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UnusableImageError';
  }
}
