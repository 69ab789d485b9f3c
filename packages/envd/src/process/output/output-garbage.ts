import { collectGarbage } from '@skerry/contract/collect-garbage';

const COLLECT_BYTES = 2 * 1024 * 1024;

let deliveredBytes = 0;

/**
 * Call it for each piece of output that is sent to a reader. On its way to the wire it is copied two to four times, outside of the heap,
 * where V8 looks only at every 64 MB, and by then the C library has spread itself over more than it gives back. Collected this
 * often the copies die young, and the memory that they take is used again.
 */
export const noteDelivered = (sizeBytes: number): void => {
  deliveredBytes += sizeBytes;
  if (deliveredBytes < COLLECT_BYTES) return;
  deliveredBytes = 0;
  collectGarbage('minor');
};
