import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { EDGE_ACCESS, toEdgeAccess } from '@skerry/contract/agent-access';
import { type AgentInit, controlPaths } from '@skerry/contract/agent-control';

/** Sends an agent settings over its private socket, as the platform does. What is left out stays, but for the variables. */
export const initializeAgent = async (socketPath: string, init: Partial<AgentInit>): Promise<void> => {
  const call = request({ socketPath, method: 'POST', path: controlPaths.init });
  call.end(JSON.stringify(init));
  const [answer] = (await once(call, 'response')) as [{ statusCode?: number; resume(): void }];
  answer.resume();
  if (answer.statusCode !== 204) throw new Error(`the agent answered ${answer.statusCode} to /init`);
};

/**
 * Takes the place of the edge before an agent: resolves with the headers of a request that the edge would have allowed. From then on
 * the agent refuses the edge of its server. The argument is its private socket.
 */
export const replaceEdge = async (socketPath: string): Promise<Record<string, string>> => {
  const edgeNonce = randomBytes(32).toString('hex');
  await initializeAgent(socketPath, { edgeNonce });
  return { [EDGE_ACCESS]: toEdgeAccess('full', edgeNonce) };
};
