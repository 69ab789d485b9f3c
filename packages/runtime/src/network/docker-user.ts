import { hostFilter, type PacketFilter } from './nftables.ts';

// Docker drops what is forwarded for others, and keeps this chain in front for rules that are not its own.
const chain = 'ip filter DOCKER-USER';

/** Only what iptables can show again: it refuses to list a table that has more, as the state of a connection. */
const rules = ['iifname "skv*" accept', 'oifname "skv*" accept'];

/**
 * Lets the packets of sandboxes pass the firewall of Docker, where this network namespace has one; what they may reach is
 * decided by the rules of skerry all the same. In front of all others, as the chain often ends with one that returns: packets of
 * sandboxes do not get to the operator's rules there. Idempotent. A firewall by iptables-legacy is not seen.
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

/** Takes back what `passDocker` made. Rules of others stay, also such that say the same in other words. Idempotent. */
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

/** Base chains have braces of their own, with what they are in them: only the names are of interest. */
const splitTables = (listing: string): string => listing.replaceAll(/^\t\}\n|^\t\ttype .*\n/gm, '');

async function listChain(filter: PacketFilter): Promise<{ rule: string; handle: string }[]> {
  if (!(await hasChain(filter))) return [];
  const listing = await filter.list(`list chain ${chain}`);
  return [...listing.matchAll(/^\s*(.+) # handle (\d+)$/gm)].map(([, rule = '', handle = '']) => ({
    rule,
    handle,
  }));
}
