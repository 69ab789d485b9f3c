import { once } from 'node:events';
import { request } from 'node:http';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { EDGE_ACCESS, toEdgeAccess } from '@skerry/contract/agent-access';
import { Process } from '@skerry/envd-client/process';

const EDGE_NONCE = '0'.repeat(64);
/** The edge sends this header. */
const headers = { [EDGE_ACCESS]: toEdgeAccess('full', EDGE_NONCE) };
const READY_MS = 30_000;

/**
 * Uses a new agent as a host and a caller do, so that all has run that a first command runs, and no more: what was compiled stays in
 * the memory of every sandbox. Rejects when it does not answer as it should.
 */
export const useAgent = async (socketDir: string): Promise<void> => {
  const control = join(socketDir, 'control.sock');
  const http = join(socketDir, 'http.sock');
  const path = join(socketDir, 'file');
  const { username } = userInfo();
  await untilAnswered(http);
  const init = {
    sandboxId: 'x',
    templateId: 'x',
    envVars: { A: '1' },
    accessTokenSha256: EDGE_NONCE,
    edgeNonce: EDGE_NONCE,
    defaultUser: username,
  };
  await call(control, {
    method: 'POST',
    path: '/init',
    body: JSON.stringify({ ...init, timestamp: new Date(0) }),
  });

  const transport = createConnectTransport({
    baseUrl: 'http://localhost',
    httpVersion: '1.1',
    nodeOptions: { socketPath: http },
  });
  const program = { cmd: '/bin/sh', args: ['-c', 'echo ready; echo failed >&2'], envs: { B: '2' } };
  const events = createClient(Process, transport).start({ process: program, stdin: false }, { headers });
  for await (const _event of events);
  const file = `/files?${new URLSearchParams({ path })}`;
  await call(http, { method: 'POST', path: file, body: 'content', type: 'application/octet-stream' });
  await call(http, { method: 'GET', path: file });
};

const untilAnswered = async (socketPath: string): Promise<void> => {
  for (const until = Date.now() + READY_MS; ; await delay(10)) {
    try {
      return await call(socketPath, { method: 'GET', path: '/health' });
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
};

const call = async (
  socketPath: string,
  {
    body,
    type = 'application/json',
    ...route
  }: { method: string; path: string; body?: string; type?: string },
): Promise<void> => {
  const sent = request({ socketPath, ...route, headers: { ...headers, 'content-type': type } }).end(body);
  const [response] = await once(sent, 'response');
  const answer = await text(response);
  if (response.statusCode >= 300) throw new Error(`${route.path} answered ${response.statusCode}: ${answer}`);
};
