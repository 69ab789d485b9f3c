import { EventEmitter, on } from 'node:events';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ProgressSchema } from '../gen/skerry/images/v1/images_pb.ts';
import type { OnProgress, Progress } from '../progress.ts';
import { toConnectError } from './failure.ts';
import { toProgressMessage } from './progress-message.ts';

type ProgressEvent = { event: { case: 'progress'; value: MessageInitShape<typeof ProgressSchema> } };

/**
 * The messages of work that reports progress: each report, then its result. Ends after the work has, also when its
 * reader has gone: by then nothing is left of work that was aborted.
 */
export async function* reportProgress<T>(
  work: (onProgress: OnProgress) => Promise<T>,
): AsyncGenerator<ProgressEvent | { event: { case: 'image'; value: T } }> {
  const events = new EventEmitter<{ progress: [Progress]; end: [] }>();
  const reports = on(events, 'progress', { close: ['end'] }) as AsyncIterable<[Progress]>;
  const making = work((progress) => void events.emit('progress', progress));
  const end = (): void => void events.emit('end');
  making.then(end, end);
  try {
    for await (const [progress] of reports)
      yield { event: { case: 'progress', value: toProgressMessage(progress) } };
    yield { event: { case: 'image', value: await making } };
  } catch (error) {
    throw toConnectError(error);
  } finally {
    // The failure was thrown above; nothing may be under way when the stream ends.
    await making.catch(() => undefined);
  }
}
