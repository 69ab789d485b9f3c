/** What drops packets that this host forwards, and the line that allows those of sandboxes. */
export interface Firewall {
  name: string;
  mend: string;
}

const bothWays = (toLine: (rule: { iptables: string; nft: string }) => string): string =>
  [
    { iptables: '-i skv+', nft: 'iifname "skv*"' },
    {
      iptables: '-o skv+ -m conntrack --ctstate RELATED,ESTABLISHED',
      nft: 'oifname "skv*" ct state established,related',
    },
  ]
    .map(toLine)
    .join(' && ');

/**
 * Finds it in the output of `nft list chains` and, as that does not show them, in the names of the tables of
 * iptables-legacy that are in use (`/proc/net/ip_tables_names`). Undefined where nothing is known to drop packets.
 */
export function findFirewall({
  chains,
  legacyTables,
}: {
  chains: string;
  legacyTables: string;
}): Firewall | undefined {
  const dropping = findDroppingChain(chains);
  if (/^table inet firewalld \{/m.test(chains))
    return {
      name: 'firewalld',
      mend: 'firewall-cmd --permanent --zone=trusted --add-interface=skv+ && firewall-cmd --reload',
    };
  if (dropping === 'ip filter FORWARD')
    return {
      name: 'iptables',
      mend: bothWays(({ iptables }) => `iptables -I FORWARD ${iptables} -j ACCEPT`),
    };
  if (dropping !== undefined)
    return {
      name: `the chain ${dropping}`,
      mend: bothWays(({ nft }) => `nft 'insert rule ${dropping} ${nft} accept'`),
    };
  if (legacyTables.split('\n').includes('filter'))
    return {
      name: 'iptables-legacy',
      mend: bothWays(({ iptables }) => `iptables-legacy -I FORWARD ${iptables} -j ACCEPT`),
    };
  return undefined;
}

/** Family, table and name of the first chain that drops forwarded packets unless a rule accepts them. */
function findDroppingChain(chains: string): string | undefined {
  let [table, chain] = ['', ''];
  for (const line of chains.split('\n')) {
    table = /^table (.+) \{/.exec(line)?.[1] ?? table;
    chain = /^\s+chain (.+) \{/.exec(line)?.[1] ?? chain;
    if (/hook forward priority [^;]+; policy drop/.test(line)) return `${table} ${chain}`;
  }
  return undefined;
}
