/**
 * The destinations that sandboxes must not reach: addresses that are not the public internet, by the IANA
 * special-purpose registry (RFC 6890), and the metadata service of Azure, which has a public-looking address. The
 * metadata services of others (169.254.169.254, 100.100.100.200, 192.0.0.192) are inside these ranges.
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
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const;
