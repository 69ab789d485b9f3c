import { collectGarbage } from './workarounds/collect-garbage.ts';

/**
 * Buffers that are on their way at that moment count as old from then on, and V8 marks the whole heap when there are enough of
 * those: with 8 MiB it did so 35 times for each GiB, with 2 MiB not once.
 */
const maxPassedBytes = 2 * 1024 * 1024;

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
  collectGarbage('minor');
};
