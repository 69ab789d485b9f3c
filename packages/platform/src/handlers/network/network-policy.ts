import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { NetworkPolicy } from '@skerry/runtime';
import { CLOSED_NETWORK, findPolicyProblem, OPEN_NETWORK } from '@skerry/runtime/network';
import type { SandboxRow } from '../../store/rows.ts';
import { toIngressFields } from './ingress.ts';

type NetworkConfig = components['schemas']['NetworkConfig'];

/** What a body says of outgoing connections. */
export interface OutgoingRules extends Pick<NetworkConfig, 'allowOut' | 'denyOut'> {
  /** False denies all, as `0.0.0.0/0` does. */
  allow_internet_access?: boolean | undefined;
}

const FIELDS = { allow: 'allowOut', deny: 'denyOut' } as const;

/**
 * Parses the rules for outgoing connections, whose lists are in `part` of the request. Null where the body chooses nothing. Throws `invalid_argument`,
 * naming the entry, also for a name in place of an address: this server has rules for addresses only.
 */
export const parseOutgoingRules = (body: OutgoingRules, part: string): NetworkPolicy | null => {
  const { allowOut = [], denyOut = [], allow_internet_access: isOpen } = body;
  if (allowOut.length === 0 && denyOut.length === 0 && isOpen === undefined) return null;
  const lists = { allow: allowOut, deny: denyOut };
  const problem = findPolicyProblem(lists);
  if (problem !== undefined) {
    const { list, index, rule } = problem;
    const entry = lists[list][index] ?? '';
    const hint = list === 'allow' && isName(entry) ? '; this server has no rules by name' : '';
    throw invalid(`${part}.${FIELDS[list]}[${index}] ${rule}, got "${entry}"${hint}`);
  }
  return { allow: allowOut, deny: isOpen === false ? [...CLOSED_NETWORK.deny, ...denyOut] : denyOut };
};

const isName = (entry: string): boolean => /[a-z]/i.test(entry) && !entry.includes(':');

/** Returns the fields of a reply about how a sandbox is connected. */
export const toNetworkFields = ({
  network: policy,
  ingress,
}: Pick<SandboxRow, 'network' | 'ingress'>): Pick<
  components['schemas']['SandboxDetail'],
  'allowInternetAccess' | 'network'
> => {
  const { allow, deny } = policy ?? OPEN_NETWORK;
  const isListed = allow.length + deny.length > 0;
  const network = {
    ...(isListed && { allowOut: [...allow], denyOut: [...deny] }),
    ...(ingress && toIngressFields(ingress)),
  };
  return {
    allowInternetAccess: policy && !deny.includes('0.0.0.0/0'),
    ...(Object.keys(network).length > 0 && { network }),
  };
};

const isEmpty = (value: object | null | undefined): boolean =>
  value == null || Object.keys(value).length === 0;

type BuiltField = 'allowOut' | 'denyOut' | 'allowPublicTraffic' | 'maskRequestHost' | 'httpsPorts';

/** Returns the names of the fields of a network configuration that request a feature that this server lacks. */
export const listNetworkRefusals = (network: NetworkConfig): string[] => {
  const asks = {
    egressProxy: network.egressProxy != null,
    rules: !isEmpty(network.rules),
  } satisfies Record<Exclude<keyof NetworkConfig, BuiltField>, boolean>;
  return Object.entries(asks).flatMap(([key, isAsked]) => (isAsked ? [key] : []));
};
