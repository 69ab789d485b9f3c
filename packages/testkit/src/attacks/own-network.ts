import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeNetworkLab, type NetworkLab } from '@skerry/runtime/testing';
import { Sandbox } from '@skerry/sdk';
import { type Stack, startStack } from '../stack/stack.ts';
import { createStackClient, type StackClient } from '../stack/stack-client.ts';

/** A server on a machine of a network lab, among other machines there. */
export interface OwnNetwork extends AsyncDisposable {
  readonly lab: NetworkLab;
  /** The server, as it is reached from the machine of the tests. */
  readonly client: StackClient;
  readonly log: Stack['log'];
  /** The port on the machine of the server. */
  readonly port: number;
  createSandbox(): Promise<Sandbox>;
}

/** The name of the machine that the server is on. */
export const SERVER = 'server';

/**
 * Starts a server in a network of its own, beside machines of these names: what differs between networks, and what all programs of a
 * host share of it, is then what the test has made. `prepare` runs before the server starts; `through` is put before its command.
 */
export const startInOwnNetwork = async (options: {
  machines: readonly string[];
  prepare?: (lab: NetworkLab) => void;
  through?: readonly string[];
  args?: readonly string[];
}): Promise<OwnNetwork> => {
  const { machines, prepare, through = [], args = [] } = options;
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'skerry-own-network-'));
  cleanup.defer(() => rmSync(folder, { recursive: true }));
  const lab = await makeNetworkLab([SERVER, ...machines]);
  cleanup.defer(() => lab.close());
  prepare?.(lab);
  const dataDir = join(folder, 'data');
  const stack = await startStack({
    dataDir,
    through: [...lab.host(SERVER).through, ...through],
    args: ['--no-memory', ...args],
  });
  cleanup.defer(() => stack.down());
  const port = Number(new URL(stack.address.apiUrl).port);
  const url = `http://127.0.0.1:${await lab.forward(SERVER, { host: '127.0.0.1', port })}`;
  const address = { ...stack.address, apiUrl: url, sandboxUrl: url };
  const client = createStackClient({ address, dataDir, readLog: async () => stack.log() });
  const running = cleanup.move();
  return {
    lab,
    client,
    log: stack.log,
    port,
    createSandbox: async () => Sandbox.connect((await client.createSandbox()).sandboxId, client.connection),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
};
