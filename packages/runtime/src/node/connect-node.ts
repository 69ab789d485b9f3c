import { setTimeout as sleep } from 'node:timers/promises';
import type { Credentials } from './credentials.ts';
import type { NodeAddress } from './dial-node.ts';
import type { NodeDescription } from './node-description.ts';
import { createRemoteImages, type RemoteImages } from './node-images.ts';
import { createNodeRuntime, type NodeRuntime } from './node-runtime.ts';
import { createRemoteSnapshots, type RemoteSnapshots, type SignedStore } from './node-snapshots.ts';
import type { Claim } from './opening.ts';

/** A node that is watched until `close`. */
export interface NodeConnection {
  /** Undefined until the node has answered for the first time; then always the same, also while the node cannot be reached. */
  readonly runtime: NodeRuntime | undefined;
  readonly images: RemoteImages;
  /** Undefined without a store. */
  readonly snapshots: RemoteSnapshots | undefined;
  close(): Promise<void>;
}

export interface NodeConnectionOptions {
  address: NodeAddress;
  credentials: Credentials;
  claim: Claim;
  /** The store for snapshots of the node. */
  store?: SignedStore | undefined;
  /** Called with each answer of the node, the first of which means that its runtime can be used. */
  onAnswer: (description: NodeDescription) => void;
  /** Called when the node cannot be reached any more, and with each failed attempt after that. */
  onFailure: (reason: Error) => void;
  /** How often the node is asked. Default 2 s. */
  intervalMs?: number;
  /** The time in which it must answer. Default 6 s. */
  timeoutMs?: number;
}

/** Connects to a node, asks at intervals whether it is there, and connects again when it is not. Never rejects. */
export function connectNode(options: NodeConnectionOptions): NodeConnection {
  const { address, credentials, claim, onAnswer, onFailure, intervalMs = 2_000, timeoutMs = 6_000 } = options;
  const closing = new AbortController();
  const { signal } = closing;
  let runtime: NodeRuntime | undefined;
  let wake = new AbortController();

  const onConnection = (isConnected: boolean): void => {
    if (signal.aborted) return;
    if (!isConnected) onFailure(new Error('the connection ended'));
    // The next question is asked at once: it finds out whether the node is there again.
    wake.abort();
  };

  const ask = async (): Promise<void> => {
    try {
      runtime ??= await createNodeRuntime({ address, credentials, claim, onConnection, signal });
      const description = await runtime.describeNode({ timeoutMs });
      if (!signal.aborted) onAnswer(description);
    } catch (error) {
      if (!signal.aborted) onFailure(toReason(error));
    }
  };

  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      wake = new AbortController();
      await ask();
      const until = AbortSignal.any([signal, wake.signal]);
      // The sleep rejects only when one of the two signals ends it early.
      await sleep(intervalMs, undefined, { signal: until, ref: false }).catch(() => undefined);
    }
  };

  const watching = watch();
  const { store } = options;
  const { installation } = claim;
  return {
    images: createRemoteImages({ address, credentials, installation }),
    snapshots: store && createRemoteSnapshots({ address, credentials, installation, store }),
    get runtime() {
      return runtime;
    },
    close: async () => {
      closing.abort(new Error('the server is closing'));
      await runtime?.close();
      await watching;
    },
  };
}

/** The innermost error says what happened; the outer ones say during what. */
function toReason(error: unknown): Error {
  const { cause } = error as Error;
  return cause instanceof Error ? toReason(cause) : (error as Error);
}
