import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { inject } from 'vitest';
import type { SharedStackState } from './shared-stack-setup.ts';
import { createStackClient, type StackClient, type StackSandbox } from './stack-client.ts';
import { refuseUndeclared } from './undeclared.ts';

export interface SharedStack extends StackClient {
  /** Kills the sandboxes that were made through this. Rejects when the server has sent an answer that the document lacks. */
  leave(): Promise<void>;
}

/**
 * Joins the server of a level that test files have in common; the first to ask starts it. For tests that neither restart it nor look
 * at what all of its sandboxes do: each file makes its own, and others come and go meanwhile.
 */
export async function joinStack({
  level = 'container',
}: {
  level?: IsolationLevel;
} = {}): Promise<SharedStack> {
  const { address, dataDir } = await askState(level);
  const client = createStackClient({ address, dataDir, readLog: async () => (await askState(level)).log });
  const made: StackSandbox[] = [];
  return {
    ...client,
    createSandbox: async (options) => {
      const sandbox = await client.createSandbox(options);
      made.push(sandbox);
      return sandbox;
    },
    leave: async () => {
      await Promise.all(made.map((sandbox) => sandbox.kill()));
      refuseUndeclared((await askState(level)).log);
    },
  };
}

async function askState(level: IsolationLevel): Promise<SharedStackState> {
  const socket = connect(join(inject('sharedStackDir'), level));
  await once(socket, 'connect');
  const answer = await text(socket);
  if (answer === '') throw new Error('the shared server could not be started');
  return JSON.parse(answer) as SharedStackState;
}
