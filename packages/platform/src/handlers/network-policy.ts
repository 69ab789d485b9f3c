import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { NetworkPolicy } from '@skerry/runtime';
import { CLOSED_NETWORK, findPolicyProblem } from '@skerry/runtime/network-policy';

type NetworkConfig = components['schemas']['NetworkConfig'];

/** What a body says of outgoing connections. */
export interface OutgoingRules extends Pick<NetworkConfig, 'allowOut' | 'denyOut'> {
  /** False denies all, as `0.0.0.0/0` does. */
  allow_internet_access?: boolean | undefined;
}

const FIELDS = { allow: 'allowOut', deny: 'denyOut' } as const;

/**
 * Parses the rules for outgoing connections, whose lists are in `place`. Null where the body chooses nothing. Throws `invalid_argument`,
 * naming the entry, also for a name in place of an address: this server has rules for addresses only.
 */
export const parseOutgoingRules = (body: OutgoingRules, place: string): NetworkPolicy | null => {
  const { allowOut = [], denyOut = [], allow_internet_access: isOpen } = body;
  if (allowOut.length === 0 && denyOut.length === 0 && isOpen === undefined) return null;
  const lists = { allow: allowOut, deny: denyOut };
  const problem = findPolicyProblem(lists);
  if (problem !== undefined) {
    const { list, index, rule } = problem;
    const entry = lists[list][index] ?? '';
    const hint = list === 'allow' && isName(entry) ? '; this server has no rules by name' : '';
    throw invalid(`${place}.${FIELDS[list]}[${index}] ${rule}, got "${entry}"${hint}`);
  }
  return { allow: allowOut, deny: isOpen === false ? [...CLOSED_NETWORK.deny, ...denyOut] : denyOut };
};

const isName = (entry: string): boolean => /[a-z]/i.test(entry) && !entry.includes(':');

/** Returns the fields of a reply about a sandbox with this policy. */
export const toNetworkFields = (
  policy: NetworkPolicy | null,
): Pick<components['schemas']['SandboxDetail'], 'allowInternetAccess' | 'network'> => {
  if (policy === null) return { allowInternetAccess: null };
  const { allow, deny } = policy;
  const isListed = allow.length + deny.length > 0;
  return {
    allowInternetAccess: !deny.includes('0.0.0.0/0'),
    ...(isListed && { network: { allowOut: [...allow], denyOut: [...deny] } }),
  };
};

const isEmpty = (value: object | null | undefined): boolean =>
  value == null || Object.keys(value).length === 0;

/** Returns the names of the fields of a network configuration that request a feature that this server lacks. */
export const listNetworkRefusals = (network: NetworkConfig): string[] => {
  const asks = {
    allowPublicTraffic: network.allowPublicTraffic === false,
    egressProxy: network.egressProxy != null,
    maskRequestHost: network.maskRequestHost !== undefined,
    httpsPorts: !isEmpty(network.httpsPorts),
    rules: !isEmpty(network.rules),
  } satisfies Record<Exclude<keyof NetworkConfig, 'allowOut' | 'denyOut'>, boolean>;
  return Object.entries(asks).flatMap(([key, isAsked]) => (isAsked ? [key] : []));
};
