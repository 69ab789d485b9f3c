import fc from 'fast-check';

/** Bytes that are cut off somewhere, or of which some are others. */
export const damaged = (bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc
    .tuple(
      bytes,
      fc.nat({ max: 1000 }),
      fc.array(fc.tuple(fc.nat({ max: 1000 }), fc.nat({ max: 255 })), { maxLength: 3 }),
    )
    .map(([whole, keepPermille, changes]) => {
      const copy = Uint8Array.from(whole);
      if (changes.length === 0) return copy.subarray(0, Math.floor((copy.length * keepPermille) / 1000));
      for (const [at, value] of changes) if (copy.length > 0) copy[at % copy.length] = value;
      return copy;
    });
