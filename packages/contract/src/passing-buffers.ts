import { collectGarbage } from './workarounds/collect-garbage.ts';

/**
 * Buffers in use at that moment count as old from then on, and V8 marks the whole heap when enough of them exist: with
 * 8 MiB it did so 35 times for each GiB, with 2 MiB not once.
 */
const maxPassedBytes = 2 * 1024 * 1024;

let passedBytes = 0;

/**
 * Called with the size of each chunk of a body that passes through. Node reads every chunk into a buffer outside of
 * the heap. V8 sees megabytes accumulate with almost no objects, and without this it marks the whole heap several
 * times in each 100 MiB, which takes more time than the transfer. The buffers die young, so a minor collection frees
 * them.
 */
export const notePassed = (piece: Uint8Array): void => {
  passedBytes += piece.byteLength;
  if (passedBytes < maxPassedBytes) return;
  passedBytes = 0;
  collectGarbage('minor');
};
