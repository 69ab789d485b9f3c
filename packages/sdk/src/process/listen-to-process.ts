import type { Agent, AgentCallOptions } from '../transport/agent.ts';
import { startListening } from './listening.ts';
import type { OpenedProcess, OpenProcessOptions } from './open-process.ts';
import type { LostOutput } from './output-lost-error.ts';
import { killAborted, killTimeoutMs } from './process-input.ts';
import { followProcess, type ProcessStream } from './process-stream.ts';

export interface ListenOptions extends AgentCallOptions {
  /** How long to listen, in milliseconds. Default 0: to the end. */
  timeoutMs?: number | undefined;
  onOutputLost?: ((lost: LostOutput) => void) | undefined;
  /** `signal` where the stream starts the process: when it aborts, the process is killed. */
  killSignal?: AbortSignal | undefined;
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
  { signal, killSignal, user, requestTimeoutMs, timeoutMs = 0, onOutputLost }: ListenOptions,
  open: (options: OpenProcessOptions) => Promise<OpenedProcess>,
): Promise<ListenedProcess> {
  const { controller: listening, release } = startListening(signal);
  const deadlineMs = timeoutMs > 0 ? Date.now() + timeoutMs : undefined;
  const starting = startOpening(listening.signal, { isPatient: killSignal !== undefined });
  try {
    const opened = await open({ user, requestTimeoutMs, timeoutMs, signal: starting.signal });
    starting.end();
    const { pid, offset } = opened;
    if (killSignal?.aborted) {
      opened.events.stream.abort();
      await killAborted(agent, pid);
      throw listening.signal.reason;
    }
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
    starting.end();
    release();
    throw error;
  }
}

/**
 * A signal that aborts with another one, with its reason. A patient one waits until `end` for as long as a kill may take: the
 * process may have started already, and can be killed once its pid has arrived.
 */
function startOpening(
  signal: AbortSignal,
  { isPatient }: { isPatient: boolean },
): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal.reason);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = !isPatient || signal.aborted;
  signal.addEventListener('abort', () => {
    if (isOver) stop();
    else timer = setTimeout(stop, killTimeoutMs);
  });
  if (signal.aborted) stop();
  return {
    signal: controller.signal,
    end: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
