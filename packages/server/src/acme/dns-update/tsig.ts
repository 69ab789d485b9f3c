import { createHmac, timingSafeEqual } from 'node:crypto';
import { readRecords, toName, toUint16 } from './dns-message.ts';
import type { TsigKey } from './tsig-key.ts';

const TYPE_TSIG = 250;
const CLASS_ANY = 255;
/** The difference between the clocks of both sides that a server accepts. */
const FUDGE_SECONDS = 300;
const ADDITIONAL_COUNT = 10;

/** Adds a signature to a message. Returns it with its MAC, on which that of the answer depends. */
export function signMessage(message: Buffer, key: TsigKey, now: number): { signed: Buffer; mac: Buffer } {
  const time = toTime(now);
  const mac = macOf([message, toVariables(key, time, Buffer.alloc(4))], key);
  const data = Buffer.concat([
    toAlgorithm(key),
    ...[time, toUint16(mac.length), mac],
    // The id of the message; no error, no other data.
    ...[message.subarray(0, 2), Buffer.alloc(4)],
  ]);
  const record = Buffer.concat([
    toName(key.name),
    ...[toUint16(TYPE_TSIG), toUint16(CLASS_ANY), Buffer.alloc(4), toUint16(data.length), data],
  ]);
  const signed = Buffer.concat([message, record]);
  signed.writeUInt16BE(message.readUInt16BE(ADDITIONAL_COUNT) + 1, ADDITIONAL_COUNT);
  return { signed, mac };
}

/** Whether an answer has a signature of the key that belongs to a request. Throws `RangeError` for what is no message. */
export function isSigned(answer: Buffer, { key, requestMac }: { key: TsigKey; requestMac: Buffer }): boolean {
  const last = readRecords(answer).at(-1);
  if (last?.type !== TYPE_TSIG) return false;
  const { data } = last;
  const algorithm = toAlgorithm(key);
  if (!data.subarray(0, algorithm.length).equals(algorithm)) return false;
  const rest = data.subarray(algorithm.length);
  const macBytes = rest.readUInt16BE(8);
  const mac = rest.subarray(10, 10 + macBytes);
  const message = Buffer.from(answer.subarray(0, last.start));
  message.writeUInt16BE(message.readUInt16BE(ADDITIONAL_COUNT) - 1, ADDITIONAL_COUNT);
  const variables = toVariables(key, rest.subarray(0, 8), rest.subarray(12 + macBytes));
  const expected = macOf([toUint16(requestMac.length), requestMac, message, variables], key);
  return mac.length === expected.length && timingSafeEqual(mac, expected);
}

/** What a signature covers beside the message (RFC 8945, 4.3.3). */
const toVariables = (key: TsigKey, time: Buffer, errorAndOther: Buffer): Buffer =>
  Buffer.concat([
    toName(key.name),
    toUint16(CLASS_ANY),
    Buffer.alloc(4),
    toAlgorithm(key),
    time,
    errorAndOther,
  ]);

/** The seconds since the epoch, in six bytes, and the fudge. */
const toTime = (now: number): Buffer => {
  const time = Buffer.alloc(8);
  time.writeUIntBE(Math.floor(now / 1_000), 0, 6);
  time.writeUInt16BE(FUDGE_SECONDS, 6);
  return time;
};

const toAlgorithm = ({ hash }: TsigKey): Buffer => toName(`hmac-${hash}`);

const macOf = (parts: readonly Buffer[], { hash, secret }: TsigKey): Buffer =>
  createHmac(hash, secret).update(Buffer.concat(parts)).digest();
