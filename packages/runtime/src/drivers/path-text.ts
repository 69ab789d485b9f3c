import { isUtf8 } from 'node:buffer';

/**
 * File names are bytes. Those that are not UTF-8 become lone surrogates, so that nothing is lost and JSON can contain
 * them.
 */
export const toPathText = (name: Buffer): string =>
  isUtf8(name)
    ? name.toString('utf8')
    : Array.from(name, (byte) => String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte)).join('');

/** The inverse of `toPathText`. */
export const toPathBytes = (text: string): Buffer => {
  if (!/[\udc80-\udcff]/.test(text) || text.isWellFormed()) return Buffer.from(text);
  return Buffer.concat(
    Array.from(text, (character) => {
      const code = character.charCodeAt(0);
      const isByte = character.length === 1 && code >= 0xdc80 && code <= 0xdcff;
      return isByte ? Buffer.of(code - 0xdc00) : Buffer.from(character);
    }),
  );
};
