import type { Progress } from '../gen/skerry/images/v1/images_pb.ts';
import type { OnProgress } from '../progress.ts';
import { fromConnectError } from './failure.ts';
import { toProgress } from './progress-message.ts';

type Message<Image> = {
  event:
    | { case: 'progress'; value: Progress }
    | { case: 'image'; value: Image }
    | { case: undefined; value?: undefined };
};

/**
 * Reads what `reportProgress` sends, and resolves with the image. Rejects with ImageError, the reason of `signal`, what the transport
 * rejects with, or an Error when the messages end without an image.
 */
export async function readProgress<Image>(
  messages: AsyncIterable<Message<Image>>,
  { onProgress, signal }: { onProgress: OnProgress; signal?: AbortSignal | undefined },
): Promise<Image> {
  try {
    for await (const { event } of messages) {
      if (event.case === 'progress') onProgress(toProgress(event.value));
      if (event.case === 'image') return event.value;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw fromConnectError(error);
  }
  throw new Error('the process that makes images sent none');
}
