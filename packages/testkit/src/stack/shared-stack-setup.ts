// Set-up of the project of tests that drive the service: a server that they may share, started when one of them asks.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type Stack, startStack } from './stack.ts';
import type { StackAddress } from './stack-client.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of a socket that says, to whoever connects, a `SharedStackState` as JSON, and nothing when there is none. */
    sharedStackSocket: string;
  }
}

export interface SharedStackState {
  readonly address: StackAddress;
  readonly dataDir: string;
  readonly log: string;
}

/** Called by vitest before the tests of the project; what it resolves with is called after them. */
export default async function prepareSharedStack(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'shared-stack-'));
  let starting: Promise<Stack> | undefined;
  const answer = async (socket: Socket): Promise<void> => {
    try {
      starting ??= startStack();
      const { address, dataDir, log } = await starting;
      const state: SharedStackState = { address, dataDir, log: log() };
      socket.end(JSON.stringify(state));
    } catch (error) {
      console.error(error);
      socket.destroy();
    }
  };
  const server = createServer((socket) => void answer(socket));
  const path = join(dir, 'socket');
  server.listen(path);
  await once(server, 'listening');
  project.provide('sharedStackSocket', path);
  return async () => {
    server.close();
    const stack = await starting?.catch(() => undefined);
    await stack?.down();
    await rm(dir, { recursive: true });
  };
}
