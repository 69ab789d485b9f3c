import type { components } from '@skerry/platform-client';
import type { NodeList, NodeView } from '../../hosts/node-list.ts';
import { ALIVE_STATES, PAUSED_STATES, type SandboxState } from '../../store/rows.ts';
import type { HandlerContext, PlatformHandlers } from '../platform-handlers.ts';

type NodeRoute =
  | 'GET /skerry/v1/nodes'
  | 'DELETE /skerry/v1/nodes/{nodeName}'
  | 'POST /skerry/v1/nodes/{nodeName}/cordon'
  | 'POST /skerry/v1/nodes/{nodeName}/uncordon'
  | 'POST /skerry/v1/nodes/{nodeName}/drain';

type Context = Pick<HandlerContext, 'store' | 'nodeEvents' | 'drainer'> & { nodes: NodeList };

/** Handlers of the machines on which sandboxes are. A server that has them on its own machine has no nodes. */
export const createNodeHandlers = ({
  store,
  nodes,
  nodeEvents,
  drainer,
}: Context): Pick<PlatformHandlers, NodeRoute> => ({
  'GET /skerry/v1/nodes': async () => ({ status: 200, body: (await nodes.list()).map(toNode) }),
  'DELETE /skerry/v1/nodes/{nodeName}': async ({ params: { nodeName } }) => {
    await nodes.forget(nodeName, nodeEvents.abandon);
    return { status: 204 };
  },
  'POST /skerry/v1/nodes/{nodeName}/cordon': async ({ params: { nodeName } }) => ({
    status: 200,
    body: toNode(await nodes.setCordoned(nodeName, true)),
  }),
  'POST /skerry/v1/nodes/{nodeName}/uncordon': async ({ params: { nodeName } }) => ({
    status: 200,
    body: toNode(await nodes.setCordoned(nodeName, false)),
  }),
  'POST /skerry/v1/nodes/{nodeName}/drain': async ({ params: { nodeName } }) => {
    const node = toNode(await nodes.setCordoned(nodeName, true));
    const rows = await store.listSandboxes({ states: ALIVE_STATES, order: 'asc', nodes: [nodeName] });
    const moving =
      drainer?.advance(
        nodeName,
        rows.map(({ id }) => id),
      ) ?? false;
    const remaining = rows.map(({ id, state }) => {
      const problem = drainer?.problemOf(id);
      return { sandboxID: id, state: toVisible(state), ...(problem !== undefined && { problem }) };
    });
    return { status: 200, body: { node, remaining, moving } };
  },
});

const toVisible = (state: SandboxState): 'running' | 'paused' =>
  PAUSED_STATES.includes(state) ? 'paused' : 'running';

const toNode = ({
  name,
  address,
  cordoned,
  epoch,
  state,
  ...node
}: NodeView): components['schemas']['Node'] => ({
  name,
  address,
  state,
  cordoned,
  epoch,
  ...(node.seenAt !== null && { lastSeenAt: new Date(node.seenAt).toISOString() }),
  ...(node.problem !== undefined && { problem: node.problem }),
  ...(node.version !== undefined && { version: node.version }),
  ...(node.room && { room: { sandboxes: node.room.sandboxes, memoryMB: node.room.memoryMb } }),
  load: {
    sandboxes: node.load.placed,
    memoryMB: node.load.memoryMb,
    paused: node.load.others,
    snapshots: node.load.snapshots,
  },
  ...(node.unschedulable && { unschedulable: true }),
  ...(node.owner && { owner: node.owner }),
});
