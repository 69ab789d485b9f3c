interface Range {
  first: number;
  bits: number;
}

const toNumber = (address: string): number =>
  address.split('.').reduce((number, byte) => number * 256 + Number(byte), 0);

const parse = (text: string): Range => {
  const [address = '', bits = '32'] = text.split('/');
  const size = 2 ** (32 - Number(bits));
  const number = toNumber(address);
  return { first: number - (number % size), bits: Number(bits) };
};

const format = ({ first, bits }: Range): string =>
  `${[24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.')}/${bits}`;

/** Returns whether an IPv4 address or range lies in another one. */
export const isInRange = (inner: string, outer: string): boolean => {
  const [one, other] = [parse(inner), parse(outer)];
  return (
    one.bits >= other.bits && one.first >= other.first && one.first < other.first + 2 ** (32 - other.bits)
  );
};

/**
 * IPv4 addresses and ranges without those that lie in another one, in the order of their addresses: nftables takes no
 * overlapping ones in a set. Two ranges are apart, or one contains the other.
 */
export function withoutContained(texts: readonly string[]): string[] {
  const sorted = texts.map(parse).sort((one, other) => one.first - other.first || one.bits - other.bits);
  const kept: Range[] = [];
  for (const range of sorted) {
    const last = kept.at(-1);
    if (last === undefined || range.first >= last.first + 2 ** (32 - last.bits)) kept.push(range);
  }
  return kept.map(format);
}
