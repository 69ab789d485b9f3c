import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';

/** Detects an incomplete or changed file, as long as the attacker cannot write to the record too. */
interface Fingerprint {
  sizeBytes: number;
  /** GMAC of all bytes, in hex. */
  mac: string;
}

export interface FingerprintKey {
  /** A key that `createFingerprintKey` has made. */
  key: string;
  /** The name of the file in its set. */
  label: string;
}

/**
 * One is made for each set of files and kept with their fingerprints, 16 bytes in hex: equal files in two sets cannot
 * be recognized.
 */
export const createFingerprintKey = (): string => randomBytes(KEY_BYTES).toString('hex');

/**
 * Reads the whole file; where processors multiply polynomials, at the speed of memory: ten times that of SHA-256, which
 * would take longer than CRIU takes to write or read the file.
 */
export const readFingerprint = async (path: string, { key, label }: FingerprintKey): Promise<Fingerprint> => {
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  const mac = createCipheriv('aes-128-gcm', Buffer.from(key, 'hex'), toNonce(label));
  const toBuffer = (): Buffer => Buffer.allocUnsafeSlow(Math.min(size + 1, PART_BYTES));
  const buffers: [Buffer, Buffer] = [toBuffer(), toBuffer()];
  let sizeBytes = 0;
  for (let reading = file.read(buffers[0]); ; buffers.reverse()) {
    const { bytesRead } = await reading;
    if (bytesRead === 0) break;
    sizeBytes += bytesRead;
    // Always awaited: the next iteration does so.
    reading = file.read(buffers[1]);
    mac.setAAD(buffers[0].subarray(0, bytesRead));
  }
  mac.final();
  return { sizeBytes, mac: mac.getAuthTag().toString('hex') };
};

const KEY_BYTES = 16;
const PART_BYTES = 2 ** 20;

const NONCE_BYTES = 12;

/** A nonce for each label: two codes of different bytes with the same key and nonce reveal the key of the hash. */
const toNonce = (label: string): Buffer =>
  createHash('sha256').update(label).digest().subarray(0, NONCE_BYTES);
