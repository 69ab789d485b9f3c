import type { ProcessEvent } from '@skerry/envd-client/process';
import { toSandboxError } from '../errors.ts';
import { type Agent, toUserHeader } from '../transport/agent.ts';
import { type EventStream, keepaliveHeader, openStream } from '../transport/event-stream.ts';

interface Message {
  event?: ProcessEvent | undefined;
}

export interface OpenedProcess {
  pid: number;
  /** The offset of the stream's start, in bytes of output. Undefined when the server does not report it. */
  offset: number | undefined;
  events: EventStream<Message>;
}

export interface OpenProcessOptions {
  user: string | undefined;
  signal: AbortSignal;
  requestTimeoutMs: number | undefined;
  /** The timeout of the call, in milliseconds. 0 means none. */
  timeoutMs: number;
}

export interface ProcessCallOptions {
  signal: AbortSignal;
  headers: Record<string, string>;
  timeoutMs: number;
}

/** How long the sandbox may block a command while no client is connected, so that fast output is not lost either. */
export const skerryHoldMs = 10_000;

/** The offset that asks for new output only. */
export const fromNowOn = 2n ** 64n - 1n;

/** Opens a Start or a Connect stream and reads its start message. */
export async function openProcess(
  agent: Agent,
  { user, timeoutMs, ...options }: OpenProcessOptions,
  call: (rpc: ProcessCallOptions) => AsyncIterable<Message>,
): Promise<OpenedProcess> {
  const headers = { ...keepaliveHeader, ...toUserHeader(user) };
  const events = await openStream(agent, options, (signal) => call({ signal, headers, timeoutMs }));
  const start = events.first.event?.event;
  if (start?.case !== 'start') {
    events.stream.abort();
    throw toSandboxError('internal', 'the first message of the stream was not its start');
  }
  const { pid, skerryOffset: offset } = start.value;
  return { pid, offset: offset === undefined ? undefined : Number(offset), events };
}

/** Attaches to a process at an offset. A server without support for offsets sends new output only, and no offset. */
export function attachProcess(
  agent: Agent,
  { pid, offset, ...options }: OpenProcessOptions & { pid: number; offset: bigint },
): Promise<OpenedProcess> {
  const process = { selector: { case: 'pid' as const, value: pid } };
  return openProcess(agent, options, (rpc) =>
    agent.client.process.connect({ process, skerryOffset: offset, skerryHoldMs }, rpc),
  );
}
