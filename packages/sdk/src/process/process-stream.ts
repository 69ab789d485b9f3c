import type { ProcessEvent_DataEvent, ProcessEvent_EndEvent } from '@skerry/envd-client/process';
import type { Agent } from '../transport/agent.ts';
import { explainLostStream } from '../transport/event-stream.ts';
import { type AttemptLimits, reconnect, withinSilence } from '../transport/reconnect.ts';
import { attachProcess, type OpenedProcess } from './open-process.ts';
import { type LostOutput, OutputLostError } from './output-lost-error.ts';

export interface ProcessStreamOptions {
  agent: Agent;
  user: string | undefined;
  /** The first connection. */
  opened: OpenedProcess;
  /** The offset of its start, in bytes of output. Undefined when unknown: then the stream does not reconnect. */
  offset: number | undefined;
  /** Ends everything. Its reason is the error of the stream. */
  signal: AbortSignal;
  /** The deadline of the stream, in milliseconds since the epoch. */
  deadlineMs: number | undefined;
  /** Called when output is lost. Without it the stream fails with `OutputLostError`. */
  onOutputLost: ((lost: LostOutput) => void) | undefined;
}

export interface ProcessStream extends AsyncIterable<ProcessEvent_DataEvent> {
  /** Bytes of output before the next event. Undefined when unknown. */
  readonly offset: number | undefined;
  /** How the process ended. Undefined until the iteration is over. */
  readonly end: ProcessEvent_EndEvent | undefined;
}

/**
 * The output of one process, over as many connections as needed. When a connection breaks while the sandbox lives, it
 * attaches again at its offset: no byte is delivered twice, and lost bytes are reported. It gives up as `reconnect`
 * does, and at once when the server does not support offsets. Fails with a `SandboxError`.
 */
export function followProcess(options: ProcessStreamOptions): ProcessStream {
  const { agent, user, opened, signal, deadlineMs, onOutputLost } = options;
  const { pid } = opened;
  let { offset } = options;
  let end: ProcessEvent_EndEvent | undefined;

  async function* readOne({ events }: OpenedProcess): AsyncGenerator<ProcessEvent_DataEvent> {
    const iterator = events.rest[Symbol.asyncIterator]();
    for (;;) {
      const next = await withinSilence(iterator.next());
      if (next.done) throw new Error('the stream ended before the command');
      const event = next.value.event?.event;
      if (event?.case === 'end') {
        end = event.value;
        return;
      }
      // Keepalives, and events that later versions add.
      if (event?.case !== 'data') continue;
      if (offset !== undefined) offset += event.value.output.value?.length ?? 0;
      yield event.value;
    }
  }

  async function reopen(error: unknown): Promise<OpenedProcess> {
    const reason = await explainLostStream(agent, signal, error);
    if (reason.code !== 'connection_failed' || offset === undefined) throw reason;
    const from = BigInt(offset);
    const open = (limits: AttemptLimits): Promise<OpenedProcess> =>
      attachProcess(agent, { pid, offset: from, user, signal, ...limits });
    const again = await reconnect({ agent, signal, reason, deadlineMs, open });
    if (again.offset === offset) return again;
    // Without an offset the server does not support them; a smaller one belongs to another process with this pid.
    const lostBytes = (again.offset ?? 0) - offset;
    if (lostBytes > 0 && onOutputLost !== undefined) {
      onOutputLost({ offset, lostBytes });
      offset += lostBytes;
      return again;
    }
    again.events.stream.abort();
    throw lostBytes > 0 ? new OutputLostError({ offset, lostBytes }) : reason;
  }

  async function* readAll(): AsyncGenerator<ProcessEvent_DataEvent> {
    for (let current = opened; ; ) {
      let broken: unknown;
      try {
        yield* readOne(current);
        return;
      } catch (error) {
        broken = error;
      } finally {
        current.events.stream.abort();
      }
      current = await reopen(broken);
    }
  }

  return {
    get offset() {
      return offset;
    },
    get end() {
      return end;
    },
    [Symbol.asyncIterator]: readAll,
  };
}
