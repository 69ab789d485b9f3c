import { Code, ConnectError } from '@connectrpc/connect';
import { ImageFailureSchema } from '../gen/skerry/images/v1/images_pb.ts';
import { ImageError, type ImageErrorCode, isImageErrorCode } from '../image-error.ts';

const connectCodes: Record<ImageErrorCode, Code> = {
  invalid_reference: Code.InvalidArgument,
  registry_unavailable: Code.Unavailable,
  registry_refused: Code.PermissionDenied,
  corrupt: Code.DataLoss,
  unsafe: Code.InvalidArgument,
  too_large: Code.ResourceExhausted,
  no_room: Code.ResourceExhausted,
  unsuitable_image: Code.FailedPrecondition,
  missing_program: Code.FailedPrecondition,
  unsupported_host: Code.Unimplemented,
  build_failed: Code.Internal,
};

/** Anything but an ImageError stays what it is. */
export const toConnectError = (error: unknown): unknown =>
  error instanceof ImageError
    ? new ConnectError(error.message, connectCodes[error.code], undefined, [
        {
          desc: ImageFailureSchema,
          value: { code: error.code, ...(error.remedy !== undefined && { remedy: error.remedy }) },
        },
      ])
    : error;

/** What `toConnectError` was given. */
export function fromConnectError(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  const [detail] = error.findDetails(ImageFailureSchema);
  if (!detail || !isImageErrorCode(detail.code)) return error;
  const { code, remedy } = detail;
  return new ImageError(code, error.rawMessage, remedy === undefined ? {} : { remedy });
}
