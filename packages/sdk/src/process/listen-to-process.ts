import type { Agent, AgentCallOptions } from '../transport/agent.ts';
import { startListening } from './listening.ts';
import type { OpenedProcess, OpenProcessOptions } from './open-process.ts';
import type { LostOutput } from './output-lost-error.ts';
import { followProcess, type ProcessStream } from './process-stream.ts';

export interface ListenOptions extends AgentCallOptions {
  /** How long to listen, in milliseconds. Default 0: to the end. */
  timeoutMs?: number | undefined;
  onOutputLost?: ((lost: LostOutput) => void) | undefined;
}

/** A process whose output is being read. */
export interface ListenedProcess {
  pid: number;
  process: ProcessStream;
  /** Ends the stream. */
  listening: AbortController;
  /** Removes the listener from the caller's signal. Call it once at the end. */
  release(): void;
}

/** Opens a stream of a process and reads it until it ends, the caller's signal aborts or the time is over. */
export async function listenToProcess(
  agent: Agent,
  { signal, user, requestTimeoutMs, timeoutMs = 0, onOutputLost }: ListenOptions,
  open: (options: OpenProcessOptions) => Promise<OpenedProcess>,
): Promise<ListenedProcess> {
  const { controller: listening, release } = startListening(signal);
  const deadlineMs = timeoutMs > 0 ? Date.now() + timeoutMs : undefined;
  try {
    const opened = await open({ user, requestTimeoutMs, timeoutMs, signal: listening.signal });
    const { pid, offset } = opened;
    const process = followProcess({
      agent,
      user,
      opened,
      offset,
      signal: listening.signal,
      deadlineMs,
      onOutputLost,
    });
    return { pid, process, listening, release };
  } catch (error) {
    release();
    throw error;
  }
}
