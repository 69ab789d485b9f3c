import { RuntimeError } from '../error.ts';
import { hasInterface, inNetworkNamespace, openNetworkNamespace } from '../kernel/network-namespace.ts';
import { attachNetwork, type NetworkOptions, requireGateway, setNames, toSandboxRules } from './attach.ts';
import { guestInterface } from './link.ts';
import { openRuleSet } from './nftables.ts';
import { isClosedNetwork, toNames } from './policy.ts';
import { hostInterface, toGuestRules, toLinkRules } from './rules.ts';

/**
 * Rejects with `unsupported` when a running sandbox cannot get this policy: without a link it would need one, and gVisor reads the
 * interfaces of a sandbox only when that starts; and when it has names and there is no gateway.
 */
export function requireChangeable({ slot, policy, hasOwnStack, gateway }: NetworkOptions): void {
  if (toNames(policy).length > 0) requireGateway(gateway);
  if (hasOwnStack !== true || isClosedNetwork(policy) || hasInterface(hostInterface(slot))) return;
  throw new RuntimeError(
    'unsupported',
    'a sandbox of level gvisor that started without a network cannot get one while it runs',
  );
}

/**
 * Replaces the policy of a running sandbox, in one transaction, and makes its link where it has none and needs one. Idempotent. Rejects as
 * `attachNetwork` does; the rules before then still hold. Where only the gateway fails, the new rules hold: what they leave to it is refused
 * until it is there.
 */
export async function changeNetwork(options: NetworkOptions): Promise<void> {
  if (!hasInterface(hostInterface(options.slot))) {
    if (!isClosedNetwork(options.policy)) await attachNetwork(options);
    return;
  }
  const namespace = await openNetworkNamespace(options.pid);
  try {
    const set = inNetworkNamespace(namespace, openRuleSet);
    const rules = toSandboxRules(options);
    try {
      // The gateway first: it refuses connections for names that the rules of the namespace do not send to it yet.
      const [told] = await Promise.allSettled([setNames(options)]);
      await set.run(
        toGuestRules(rules) + (options.hasOwnStack === true ? toLinkRules(rules, guestInterface) : ''),
      );
      if (told.status === 'rejected') throw told.reason;
    } finally {
      set.close();
    }
  } finally {
    await namespace.close();
  }
}
