import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Well below the 32 MiB of buffers at which V8 would start to mark the whole heap. */
const maxPassedBytes = 8 * 1024 * 1024;

// Node gives programs no other way to the collection of young objects than this function behind a flag.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
setFlagsFromString('--no-expose-gc');

let passedBytes = 0;

/**
 * To be told of each piece of a body that passes through. Node reads every piece into a buffer of its own, outside of the
 * heap: V8 sees megabytes pile up with next to no objects, and without this it marks the whole heap several times in each
 * 100 MiB, which takes more time than the transfer. The buffers die young, so a look at the young objects gives them back.
 */
export const notePassed = (piece: Uint8Array): void => {
  passedBytes += piece.byteLength;
  if (passedBytes < maxPassedBytes) return;
  passedBytes = 0;
  collect({ type: 'minor' });
};
