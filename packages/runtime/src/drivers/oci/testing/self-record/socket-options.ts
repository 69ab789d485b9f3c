const rarer = 'rarer options of sockets: time stamps, busy polling, pacing';
const beside = 'what comes beside a message (`IP_RECVTOS` and its like)';

/**
 * The options of sockets that CRIU does not keep, by their names in Python or, where it has none, their numbers, and the words of
 * docs/pause.md that say so.
 */
const lost: readonly [level: string, words: string, options: string][] = [
  [
    'IP',
    beside,
    '8 10 11 12 18 21 23 25 26 49 51 BIND_ADDRESS_NO_PORT DEFAULT_MULTICAST_LOOP MAX_MEMBERSHIPS MULTICAST_LOOP MULTICAST_TTL RECVOPTS RECVRETOPTS RECVTOS TTL',
  ],
  [
    'IPV6',
    'hops and class of IPv6',
    '2 3 4 5 8 11 23 25 29 30 31 33 70 72 73 74 77 UNICAST_HOPS MULTICAST_LOOP MULTICAST_IF MULTICAST_HOPS V6ONLY RECVHOPLIMIT RECVHOPOPTS RECVRTHDR RECVDSTOPTS RECVPATHMTU DONTFRAG RECVTCLASS TCLASS',
  ],
  ['NETLINK', 'options of netlink', '4 10 11 12 FIREWALL NFLOG'],
  ['SO', rarer, '37 40 41 42 43 44 45 46 47 60 61 63 64 65 73 74 75 76 82 83 J1939_PROMISC'],
  [
    'TCP',
    'and of TCP congestion control, user timeout, `TCP_MAXSEG`',
    '16 27 30 34 36 37 44 45 46 CONGESTION DEFER_ACCEPT FASTOPEN LINGER2 MAXSEG NOTSENT_LOWAT SYNCNT USER_TIMEOUT WINDOW_CLAMP',
  ],
];

/** A row for each option. */
export const toSocketRows = (): [RegExp, string][] =>
  lost.flatMap(([level, words, options]) =>
    options
      .split(' ')
      .map((option): [RegExp, string] => [new RegExp(`^socket .* ${level}_${option}$`), words]),
  );
