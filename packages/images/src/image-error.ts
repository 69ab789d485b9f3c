/** What the owner of a build can do something about. */
const ownerErrorCodes = [
  /** The image reference is invalid, or requests plain http on a host that is not loopback. */
  'invalid_reference',
  /** The registry did not answer, or is out of service. */
  'registry_unavailable',
  /** The registry refused: unknown image, wrong credentials, no build for this machine. */
  'registry_refused',
  /** The received data contradicts its digest or its format. */
  'corrupt',
  /** A layer tries to reach outside of the image, or is of a kind that must not be unpacked. */
  'unsafe',
  'too_large',
  /** The host has too little room for the image. */
  'no_room',
  /** The image lacks packages of the base template and has no apt to install them, or has a file that is too large to be edited. */
  'unsuitable_image',
] as const;

/** What only the operator of the host can do something about. */
const hostErrorCodes = [
  /** A program of the host is missing; `remedy` is the line that installs it. */
  'missing_program',
  /** This host's distribution has no packages to build from. */
  'unsupported_host',
  /** A build step failed; the message ends with its last output. */
  'build_failed',
] as const;

const imageErrorCodes = [...ownerErrorCodes, ...hostErrorCodes];

export type ImageErrorCode = (typeof imageErrorCodes)[number];

export const isImageErrorCode = (code: unknown): code is ImageErrorCode =>
  imageErrorCodes.some((known) => known === code);

/** The error of making an image, besides the reason of an aborted signal. The message is for the operator. */
export class ImageError extends Error {
  readonly code: ImageErrorCode;
  /** Says in one line what removes the cause, when there is such a thing: a command for a root shell, or what to name instead. */
  readonly remedy: string | undefined;

  constructor(code: ImageErrorCode, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ImageError';
    this.code = code;
    this.remedy = options.remedy;
  }
}

/** Whether the owner of a build can do something about the error. Others are for the operator alone. */
export const isOfOwner = ({ code }: ImageError): boolean => ownerErrorCodes.some((known) => known === code);
