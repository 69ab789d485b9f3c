import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type ProcessInputSchema,
  type ProcessSelectorSchema,
  Signal,
  type StreamInputRequestSchema,
} from '@skerry/envd-client/process';
import { SandboxError } from '../errors.ts';
import type { Agent } from '../transport/agent.ts';
import type { CallOptions } from '../transport/call.ts';

/** The target of input: stdin without a terminal, pty with one. */
type InputKind = 'stdin' | 'pty';

/** Bytes to write; text is sent as UTF-8. */
export type StdinData = string | Uint8Array;

/**
 * Writes once to a process.
 *
 * @internal
 */
export async function sendInput(
  agent: Agent,
  { pid, kind }: { pid: number; kind: InputKind },
  data: StdinData,
  options: CallOptions,
): Promise<void> {
  if (data.length === 0) return;
  await agent.rpc(options, ({ process }, rpc) =>
    process.sendInput({ process: toSelector(pid), input: toInput(kind, data) }, rpc),
  );
}

/**
 * Closes the stdin of a process.
 *
 * @internal
 */
export async function closeStdin(agent: Agent, pid: number, options: CallOptions): Promise<void> {
  await agent.rpc(options, ({ process }, rpc) => process.closeStdin({ process: toSelector(pid) }, rpc));
}

/**
 * Sends SIGKILL to one process. Returns false when it does not exist.
 *
 * @internal
 */
export async function killProcess(agent: Agent, pid: number, options: CallOptions): Promise<boolean> {
  try {
    await agent.rpc(options, ({ process }, rpc) =>
      process.sendSignal({ process: toSelector(pid), signal: Signal.SIGKILL }, rpc),
    );
    return true;
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'not_found') return false;
    throw error;
  }
}

/**
 * How long a caller that aborts waits for the end of its process.
 *
 * @internal
 */
export const killTimeoutMs = 5_000;

/**
 * Kills a process whose caller has aborted. Never rejects: when the process has ended or is unreachable, the caller gets the abort
 * in any case.
 *
 * @internal
 */
export async function killAborted(agent: Agent, pid: number): Promise<void> {
  await killProcess(agent, pid, { requestTimeoutMs: killTimeoutMs }).catch(() => undefined);
}

/**
 * Writes all chunks in order in one client-streaming call, at the speed at which the process reads them. Where requests
 * cannot be streamed, as in browsers over HTTP/1.1, each chunk is a call of its own.
 *
 * @internal
 */
export async function streamInput(
  agent: Agent,
  target: { pid: number; kind: InputKind },
  source: AsyncIterable<StdinData>,
  options: CallOptions,
): Promise<void> {
  if (isBrowser()) {
    for await (const data of source) await sendInput(agent, target, data, options);
    return;
  }
  // The source decides how long this takes, so only an explicit timeout applies.
  await agent.rpc({ ...options, requestTimeoutMs: options.requestTimeoutMs ?? 0 }, ({ process }, rpc) =>
    process.streamInput(toMessages(target, source), rpc),
  );
}

async function* toMessages(
  { pid, kind }: { pid: number; kind: InputKind },
  source: AsyncIterable<StdinData>,
): AsyncGenerator<MessageInitShape<typeof StreamInputRequestSchema>> {
  yield { event: { case: 'start', value: { process: toSelector(pid) } } };
  for await (const data of source) {
    if (data.length > 0) yield { event: { case: 'data', value: { input: toInput(kind, data) } } };
  }
}

/** @internal */
export function toSelector(pid: number): MessageInitShape<typeof ProcessSelectorSchema> {
  return { selector: { case: 'pid', value: pid } };
}

function toInput(kind: InputKind, data: StdinData): MessageInitShape<typeof ProcessInputSchema> {
  const value = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  return { input: { case: kind, value } };
}

function isBrowser(): boolean {
  return 'document' in globalThis;
}
