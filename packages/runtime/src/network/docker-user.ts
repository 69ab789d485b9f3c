import { hostFilter, type PacketFilter } from './nftables.ts';

// Docker drops forwarded packets of others, and runs this chain first, for rules that are not its own.
const chain = 'ip filter DOCKER-USER';

/**
 * Only matches that iptables can list: it refuses to list a table that contains others, as the state of a connection.
 */
const rules = ['iifname "skv*" accept', 'oifname "skv*" accept'];

/**
 * Accepts the packets of sandboxes in the firewall of Docker, where this network namespace has one; the rules of skerry
 * still decide what they reach. The rules come first, as the chain often ends with one that returns: the operator's
 * rules there do not see packets of sandboxes. Idempotent. A firewall by iptables-legacy is not detected.
 */
export async function passDocker(): Promise<void> {
  const missing = await findMissing(hostFilter);
  if (missing.length > 0)
    await hostFilter.run(missing.map((rule) => `insert rule ${chain} ${rule}\n`).join(''));
}

/** Whether this network namespace has that chain, in front of whose rules those of skerry come. */
export const hasDocker = (): Promise<boolean> => hasChain(hostFilter);

/** Whether `passDocker` would change nothing. */
export const passesDocker = async (): Promise<boolean> => (await findMissing(hostFilter)).length === 0;

/** Removes what `passDocker` made. Rules of others stay, also those with the same effect in other words. Idempotent. */
export async function removeFromDocker(filter: PacketFilter = hostFilter): Promise<void> {
  const handles = (await listChain(filter)).flatMap(({ rule, handle }) =>
    rules.includes(rule) ? [handle] : [],
  );
  if (handles.length > 0)
    await filter.run(handles.map((handle) => `delete rule ${chain} handle ${handle}\n`).join(''));
}

const findMissing = async (filter: PacketFilter): Promise<string[]> => {
  if (!(await hasChain(filter))) return [];
  const there = await listChain(filter);
  return rules.filter((wanted) => there.every(({ rule }) => rule !== wanted));
};

const hasChain = async (filter: PacketFilter): Promise<boolean> =>
  /^table ip filter \{[^}]*?\bchain DOCKER-USER \{/ms.test(splitTables(await filter.run('list chains ip')));

/** Base chains contain braces with their settings: only the names are needed. */
const splitTables = (listing: string): string => listing.replaceAll(/^\t\}\n|^\t\ttype .*\n/gm, '');

async function listChain(filter: PacketFilter): Promise<{ rule: string; handle: string }[]> {
  if (!(await hasChain(filter))) return [];
  const listing = await filter.list(`list chain ${chain}`);
  return [...listing.matchAll(/^\s*(.+) # handle (\d+)$/gm)].map(([, rule = '', handle = '']) => ({
    rule,
    handle,
  }));
}
