import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { AgentInit } from '@skerry/contract/agent-control';
import { agentPort } from '@skerry/contract/directory';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';
import {
  type AgentConnection,
  type AgentSettings,
  type AgentSource,
  createAgent,
  createKeys,
  toInitKeys,
} from './agent.ts';
import { findAgentProcess } from './agent-process.ts';
import { startEdgeFront } from './edge-front.ts';

/** Root inside can initialize its own agent, which the platform does not do with settings such as these. */
const INITIALIZE = `import socket, sys
body = sys.argv[1].encode()
s = socket.socket(socket.AF_UNIX)
s.connect('/run/envd/control.sock')
s.sendall(b'POST /init HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(body) + body)
assert b' 204 ' in s.recv(100)`;

/** Agents in sandboxes of the server that test files share. */
export const openStackAgents = async (): Promise<AgentSource> => {
  const stack = await joinStack();
  const opened: (() => Promise<void>)[] = [];
  return {
    stack,
    async open({ envVars, accessToken, defaultWorkdir }: AgentSettings = {}) {
      const sandbox =
        accessToken === null
          ? await createOpenSandbox(stack)
          : await stack.createSandbox({ timeoutSeconds: 600, ...(envVars && { envVars }) });
      opened.push(() => sandbox.kill());
      const { sandboxId } = sandbox;
      const socketDir = join(stack.dataDir, 'sandboxes', sandboxId, 'disk/run');
      const made: AgentConnection = {
        url: stack.address.sandboxUrl,
        innerUrl: `http://127.0.0.1:${agentPort}`,
        innerSocketDir: '/run/envd',
        sandboxId,
        accessToken: sandbox.accessToken,
        rootHome: '/root',
        dial: (way) => dial(socketDir, way),
        findProcess: () => findAgentProcess(sandboxId),
        end: () => sandbox.kill(),
      };
      const initialize = (init: Partial<AgentInit>) =>
        createAgent(() => made).run(`python3 -c "${INITIALIZE}" '${JSON.stringify(init)}'`);
      if (defaultWorkdir) await initialize({ defaultWorkdir });
      if (!accessToken) return createAgent(() => made);
      // The edge of the stack does not know this token, so the agent gets an edge that does.
      const keys = createKeys(accessToken);
      await initialize(toInitKeys(keys));
      const front = await startEdgeFront({ sandboxId, agent: keys, dial: () => dial(socketDir, 'socket') });
      opened.push(() => front.close());
      const connection = { ...made, accessToken, url: front.url };
      return createAgent(() => connection);
    },
    async close() {
      await Promise.all(opened.map((kill) => kill()));
      await stack.leave();
    },
  };
};

/** A sandbox that is made without a token, which only the older of two routes does. */
const createOpenSandbox = async (
  stack: SharedStack,
): Promise<Pick<StackSandbox, 'sandboxId' | 'accessToken' | 'kill'>> => {
  const { data } = await stack.api.POST('/sandboxes', {
    body: { templateID: 'base', secure: false, timeout: 600 },
  });
  if (data === undefined) throw new Error('no sandbox without a token was made');
  const sandboxId = data.sandboxID;
  return {
    sandboxId,
    accessToken: '',
    async kill() {
      await stack.api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID: sandboxId } } });
    },
  };
};

/** The way of the host to an agent: its socket, or a tunnel to its port through its private socket. */
const dial = async (socketDir: string, way: 'socket' | 'port'): Promise<Socket> => {
  if (way === 'socket') return connect(join(socketDir, 'http.sock'));
  const socket = connect(join(socketDir, 'control.sock'));
  socket.write(`CONNECT localhost:${agentPort} HTTP/1.1\r\nHost: localhost:${agentPort}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.toString().startsWith('HTTP/1.1 200 ')) throw new Error(`the tunnel answered ${head.toString()}`);
  return socket;
};
