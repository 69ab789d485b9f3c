/**
 * Where no sandbox may send to: addresses that are not the public internet, out of the IANA special-purpose registry
 * (RFC 6890), and the metadata service of Azure, which hides behind a public-looking address. The others' metadata
 * services (169.254.169.254, 100.100.100.200, 192.0.0.192) are inside these ranges.
 */
export const blockedRanges = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const;
