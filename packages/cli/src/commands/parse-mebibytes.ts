import { InvalidArgumentError } from 'commander';

/** The minimum memory of a sandbox. */
const LEAST = 128;
const MOST = 1_048_576;

/** Parses the memory of a sandbox, in MiB. */
export function parseMebibytes(text: string): number {
  const mebibytes = Number(text);
  if (!/^\d+$/.test(text) || mebibytes < LEAST || mebibytes > MOST)
    throw new InvalidArgumentError(`the memory of a sandbox must be ${LEAST} to ${MOST} MiB.`);
  return mebibytes;
}
