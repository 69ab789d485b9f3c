export type ImageErrorCode =
  /** The image reference cannot be read, or asks for plain http on a host that is not loopback. */
  | 'invalid_reference'
  /** The registry did not answer, or answered that it cannot serve now. */
  | 'registry_unavailable'
  /** The registry answered with no: unknown image, wrong credentials, no build for this machine. */
  | 'registry_refused'
  /** What arrived is not what its digest or its format promises. */
  | 'corrupt'
  /** A layer tries to reach outside of the image, or is of a kind that nobody should unpack. */
  | 'unsafe'
  | 'too_large'
  /** The image lacks what a base template needs and has no apt to install it. */
  | 'unsuitable_image'
  /** A program of the host is missing; `remedy` is the line that installs it. */
  | 'missing_program'
  /** This host's distribution offers no packages to build from. */
  | 'unsupported_host'
  /** A build step ran and failed; the message ends with what it printed last. */
  | 'build_failed';

/** What making an image throws, besides the reason of an aborted signal. The message is for the operator. */
export class ImageError extends Error {
  readonly code: ImageErrorCode;
  /** One line for a root shell that mends the cause, when there is one. */
  readonly remedy: string | undefined;

  constructor(code: ImageErrorCode, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ImageError';
    this.code = code;
    this.remedy = options.remedy;
  }
}
