/**
 * Program: protobuf-es
 * Does: Adds `toBase64` of ECMAScript 2026 to the prototype of `Uint8Array` where this Node lacks it.
 * Why not the promised way: protobuf-es takes the method when it is there as it loads. Its own loop over single bytes takes most of the time of
 * JSON output, and it has no option for another one.
 * Source: https://tc39.es/ecma262/#sec-uint8array.prototype.tobase64
 * When it no longer fits: Nothing is added once Node has the method, from version 25 on; delete this file then.
 * Test: native-base64.test.ts
 * Bench row: agent.output
 */
/**
 * Gives `Uint8Array` the `toBase64` of ECMAScript 2026, which this Node lacks. protobuf-es takes it when it is there as it
 * loads, so this file is imported before; its own loop over single bytes takes most of the time of JSON output.
 */
const toBase64 = function (
  this: Uint8Array,
  {
    alphabet = 'base64',
    omitPadding = false,
  }: { alphabet?: 'base64' | 'base64url'; omitPadding?: boolean } = {},
): string {
  const text = Buffer.from(this.buffer, this.byteOffset, this.byteLength).toString('base64');
  const padded = alphabet === 'base64' ? text : text.replaceAll('+', '-').replaceAll('/', '_');
  return omitPadding ? padded.replace(/=+$/, '') : padded;
};

if (!('toBase64' in Uint8Array.prototype)) {
  Object.defineProperty(Uint8Array.prototype, 'toBase64', {
    value: toBase64,
    configurable: true,
    writable: true,
  });
}
