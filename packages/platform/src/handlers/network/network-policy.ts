import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { Features, NetworkPolicy } from '@skerry/runtime';
import { CLOSED_NETWORK, findPolicyProblem, OPEN_NETWORK, toNames } from '@skerry/runtime/network';
import { parse as parseDomain } from 'tldts';
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
 * naming the entry, also for a name where the server has no rules by name.
 */
export const parseOutgoingRules = (
  body: OutgoingRules,
  part: string,
  { nameRules }: Pick<Features, 'nameRules'>,
): NetworkPolicy | null => {
  const { allowOut = [], denyOut = [], allow_internet_access: isOpen } = body;
  if (allowOut.length === 0 && denyOut.length === 0 && isOpen === undefined) return null;
  const deny = isOpen === false ? [...denyOut, ...CLOSED_NETWORK.deny] : denyOut;
  const problem = findPolicyProblem({ allow: allowOut, deny });
  if (problem !== undefined) {
    const { list, index, rule } = problem;
    throw invalid(
      `${part}.${FIELDS[list]}[${index}] ${rule}, got "${{ allow: allowOut, deny }[list][index]}"`,
    );
  }
  const names = toNames({ allow: allowOut, deny });
  for (const name of names) {
    const rule = nameRules ? findBrokenNameRule(name) : 'is a name, and this server has no rules by name';
    if (rule === undefined) continue;
    throw invalid(`${part}.${FIELDS.allow}[${allowOut.indexOf(name)}] ${rule}, got "${name}"`);
  }
  return { allow: allowOut, deny };
};

const findBrokenNameRule = (entry: string): string | undefined => {
  const { domain, publicSuffix } = parseDomain(entry.replace(/^\*\./, ''), { allowPrivateDomains: true });
  if (domain !== null || !entry.startsWith('*.')) return undefined;
  return `must be a name below a domain: anyone can have a name below "${publicSuffix}"`;
};

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
