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
