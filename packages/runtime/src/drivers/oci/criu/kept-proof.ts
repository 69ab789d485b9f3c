import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { release, version } from 'node:os';
import { isDeepStrictEqual } from 'node:util';

/** Where the proof is kept that a program keeps the memory of sandboxes on this host. */
export interface ProofFile {
  program: string;
  proofPath: string;
}

/** What is proved: for that version of this kernel, and that program. */
interface Proof {
  version: number;
  kernel: string[];
  program: number[];
}

/** Raise it when the proof covers more, so that a host with an older proof runs it again. */
const PROOF_VERSION = 2;

/** What a proof of that program says on this host. Rejects when there is no such file. */
export const toProof = async (program: string): Promise<Proof> => {
  const { size, mtimeMs } = await stat(program);
  return { version: PROOF_VERSION, kernel: [release(), version()], program: [size, mtimeMs] };
};

/** The kept proof, with the runtime that it is of; undefined when there is none. */
export const readProof = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
};

export const keepProof = async (path: string, proof: Proof & { on: string }): Promise<void> => {
  const next = `${path}.${process.pid}`;
  try {
    await writeFile(next, JSON.stringify(proof));
    await rename(next, path);
  } catch {
    // Where the folder cannot be written, the proof runs again at the next start.
  }
};

/** Whether a sandbox was started, paused and resumed on this kernel with that program, by whichever runtime of its level. */
export const isProved = async ({ program, proofPath }: ProofFile): Promise<boolean> => {
  const kept = await readProof(proofPath);
  if (typeof kept !== 'object' || kept === null) return false;
  // A program that cannot be read is not the proved one.
  const proof = await toProof(program).catch(() => undefined);
  return proof !== undefined && isDeepStrictEqual({ ...kept, on: undefined }, { ...proof, on: undefined });
};
