import { InvalidArgumentError } from 'commander';

/** What a sandbox has at least. */
const LEAST = 128;
const MOST = 1_048_576;

/** Turns a command line word into the memory of a sandbox, in MiB. */
export function parseMebibytes(text: string): number {
  const mebibytes = Number(text);
  if (!/^\d+$/.test(text) || mebibytes < LEAST || mebibytes > MOST)
    throw new InvalidArgumentError(`the memory of a sandbox is ${LEAST} to ${MOST} MiB.`);
  return mebibytes;
}
