import { invalid } from '@skerry/contract/error';
import { listNetworkRefusals, parseOutgoingRules } from './network/network-policy.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';

/** The handler that replaces the rules of a running sandbox. */
export const createNetworkHandlers = ({
  networkRules,
  features,
}: Pick<HandlerContext, 'networkRules' | 'features'>): Pick<
  PlatformHandlers,
  'PUT /sandboxes/{sandboxID}/network'
> => ({
  'PUT /sandboxes/{sandboxID}/network': async ({ params, body }) => {
    const refused = listNetworkRefusals(body).map((field) => `body.${field}`);
    if (refused.length > 0) throw invalid(`${refused.join(', ')}: not supported by this server`);
    await networkRules.replace(parseSandboxId(params), parseOutgoingRules(body, 'body', features));
    return { status: 204 };
  },
});
