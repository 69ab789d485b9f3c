import type { components } from '@skerry/platform-client';
import type { NodeList } from '../../hosts/node-list.ts';
import { PLACED_MESSAGE, PLATFORM_LOGGER } from '../../store/lifecycle-entry.ts';
import { toLogEntry } from '../logs.ts';
import { requireObserved } from '../observed-sandbox.ts';
import type { HandlerContext, PlatformHandlers } from '../platform-handlers.ts';
import { parseSandboxId } from '../sandbox-id.ts';

type Context = Pick<HandlerContext, 'store' | 'clock' | 'copier' | 'waker'> & { nodes: NodeList };

/** The newest; few sandboxes have more. */
const MAX_ENTRIES = 1000;

/** The handler that returns where a sandbox is, why, and what has happened to it. */
export const createExplainHandler = ({
  store,
  clock,
  nodes,
  copier,
  waker,
}: Context): Pick<PlatformHandlers, 'GET /skerry/v1/sandboxes/{sandboxID}/explanation'> => ({
  'GET /skerry/v1/sandboxes/{sandboxID}/explanation': async ({ params }) => {
    const row = await requireObserved({ store, clock }, parseSandboxId(params));
    const { id, node: name, state, pausedAt, isolation } = row;
    const query = { sandboxId: id, logger: PLATFORM_LOGGER, order: 'desc' } as const;
    const entries = await store.listLogEntries({ ...query, limit: MAX_ENTRIES });
    const [placed] = await store.listLogEntries({ ...query, search: PLACED_MESSAGE, limit: 1 });
    const node = name === null ? undefined : (await nodes.list()).find((one) => one.name === name);
    const problem = copier?.problemOf(id);
    const wakeProblem = waker.problemOf(row);
    const body: components['schemas']['SandboxExplanation'] = {
      sandboxID: id,
      isolation,
      ...(name !== null && { node: name }),
      ...(node && { nodeState: node.state }),
      ...(placed?.fields.reason !== undefined && { reason: placed.fields.reason }),
      ...(copier && state === 'paused' && { stored: (await copier.find({ id, pausedAt })) !== undefined }),
      ...(problem !== undefined && { problem }),
      ...(wakeProblem !== undefined && { wakeProblem }),
      history: entries.toReversed().map(toLogEntry),
    };
    return { status: 200, body };
  },
});
