/**
 * How many bytes at the end begin a character of UTF-8 that needs more of them: 0 to 3. What can be no UTF-8 at all counts as
 * complete.
 */
export const countIncompleteBytes = (bytes: Uint8Array): number => {
  const longest = Math.min(3, bytes.length);
  for (let count = 1; count <= longest; count += 1) {
    const byte = bytes[bytes.length - count] as number;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    if (byte < 0xc2 || byte > 0xf4) return 0;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return count < length ? count : 0;
  }
  return 0;
};
