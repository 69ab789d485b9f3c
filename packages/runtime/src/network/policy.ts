import { isIP } from 'node:net';
import { RuntimeError } from '../error.ts';
import { blockedRanges } from './blocked.ts';
import { isInRange } from './ranges.ts';

/**
 * What a sandbox may reach: names, and addresses and ranges in CIDR notation. `allow` outranks `deny`, and what neither contains is allowed. The
 * addresses that are closed on each host stay closed, whatever `allow` contains. Only this folder and the handler that parses requests read
 * the lists; every other part passes the value on.
 */
export interface NetworkPolicy {
  /** IPv4, and names where `deny` has `0.0.0.0/0`: each exact, or `*.` with a name, for all below that one. */
  readonly allow: readonly string[];
  /** Entries of IPv6 have no effect of their own: all of IPv6 is closed. */
  readonly deny: readonly string[];
}

export const OPEN_NETWORK: NetworkPolicy = { allow: [], deny: [] };
export const CLOSED_NETWORK: NetworkPolicy = { allow: [], deny: ['0.0.0.0/0'] };

/** The most entries of a list: each is an element of a set in the kernel, of every sandbox. */
export const MAX_NETWORK_ENTRIES = 256;

/** Returns whether nothing can be reached, so that the sandbox needs no link to the host. */
export const isClosedNetwork = ({ allow, deny }: NetworkPolicy): boolean =>
  allow.length === 0 && deny.includes('0.0.0.0/0');

/** The first entry that a list may not have. */
export interface PolicyProblem {
  list: keyof NetworkPolicy;
  index: number;
  /** Follows the name of the field in a message. */
  rule: string;
}

/** Returns the first problem of the lists; undefined when they are a policy. */
export const findPolicyProblem = (policy: NetworkPolicy): PolicyProblem | undefined => {
  for (const list of ['allow', 'deny'] as const) {
    for (const [index, entry] of policy[list].entries()) {
      const rule = index < MAX_NETWORK_ENTRIES ? findBrokenRule(list, entry, policy) : tooMany;
      if (rule !== undefined) return { list, index, rule };
    }
  }
  return undefined;
};

/** Parses a policy, which skerry makes and no user. Throws `internal`, naming the field. */
export const parseNetworkPolicy = (value: unknown): NetworkPolicy => {
  const { allow, deny, ...others } = Object(value) as Record<string, unknown>;
  if (!isStrings(allow) || !isStrings(deny) || Object.keys(others).length > 0)
    throw new RuntimeError('internal', 'network must have the lists allow and deny, and nothing else');
  const problem = findPolicyProblem({ allow, deny });
  if (problem !== undefined)
    throw new RuntimeError('internal', `network.${problem.list}[${problem.index}] ${problem.rule}`);
  return { allow, deny };
};

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string');

const tooMany = `is one more than the ${MAX_NETWORK_ENTRIES} entries that a list may have`;

const findBrokenRule = (
  list: keyof NetworkPolicy,
  entry: string,
  { deny }: NetworkPolicy,
): string | undefined => {
  const family = toFamily(entry);
  if (list === 'deny')
    return family === undefined ? 'must be an IP address or a range in CIDR notation' : undefined;
  if (isName(entry))
    return deny.includes(EVERYTHING) ? undefined : `is a name, which needs ${EVERYTHING} to be denied`;
  if (family === undefined) return 'must be an IP address, a range in CIDR notation or a name';
  if (family === 6) return 'must be IPv4: all of IPv6 is closed to sandboxes';
  const range = blockedRanges.find((blocked) => isInRange(entry, blocked));
  return range && `must not be inside ${range}, which is closed to every sandbox`;
};

const toFamily = (entry: string): 4 | 6 | undefined => {
  const [, address = '', bits] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(entry) ?? [];
  const family = isIP(address);
  if (family !== 4 && family !== 6) return undefined;
  return Number(bits ?? 0) <= (family === 4 ? 32 : 128) ? family : undefined;
};

const EVERYTHING = '0.0.0.0/0';

const LABEL = /^[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?$/i;

/** Returns whether an entry is a name, or `*.` with a name. One that ends with a number could be an address. */
const isName = (entry: string): boolean => {
  const name = entry.startsWith('*.') ? entry.slice(2) : entry;
  const labels = name.split('.');
  return (
    name.length <= 253 && labels.every((label) => LABEL.test(label)) && !/^\d*$/.test(labels.at(-1) ?? '')
  );
};

/** Returns the names that a policy allows. */
export const toNames = ({ allow }: NetworkPolicy): string[] => allow.filter(isName);

/** Returns the addresses and ranges that a policy allows. */
export const toAllowedAddresses = ({ allow }: NetworkPolicy): string[] =>
  allow.filter((entry) => !isName(entry));

/** Returns the IPv4 entries of a list, which are all that a rule for IPv4 can contain. */
export const toIpv4Entries = (list: readonly string[]): string[] =>
  list.filter((entry) => !entry.includes(':'));
