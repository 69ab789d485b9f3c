import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { ApiError, invalid, unimplemented } from '@skerry/contract/error';
import { type Process, type ProcessInput, Signal } from '@skerry/envd-client/process';
import { follow, SILENCE } from '../event-queue.ts';
import { keepaliveMsOf, userOf } from '../rpc-context.ts';
import type { SettingsStore } from '../settings.ts';
import type { ExitStatus } from './exit-status.ts';
import { createProcessTable, type ProcessEntry } from './process-table.ts';
import { type RunningProcess, SlowReaderError, type Subscription } from './running-process.ts';
import { startProcess } from './start-process.ts';
import { writeStream } from './write-stream.ts';

const startEvent = (pid: number) => ({ event: { event: { case: 'start' as const, value: { pid } } } });
const endEvent = (value: ExitStatus) => ({ event: { event: { case: 'end' as const, value } } });
const dataEvent = (kind: 'stdout' | 'stderr', value: Uint8Array) => ({
  event: { event: { case: 'data' as const, value: { output: { case: kind, value } } } },
});
const KEEPALIVE = { event: { event: { case: 'keepalive' as const, value: {} } } };

/** `start`, then what the subscription delivers. Subscribe before, so that not one byte of output is missed. */
async function* events({ queue, unsubscribe }: Subscription, pid: number, context: HandlerContext) {
  const keepaliveMs = keepaliveMsOf(context);
  try {
    yield startEvent(pid);
    for await (const event of follow(queue, { signal: context.signal, keepaliveMs })) {
      if (event === SILENCE) yield KEEPALIVE;
      else if (event.case === 'end') yield endEvent(event.value);
      else yield dataEvent(event.case, event.value);
    }
  } catch (error) {
    if (error instanceof SlowReaderError) throw new ConnectError(error.message, Code.Aborted);
    throw error;
  } finally {
    unsubscribe();
  }
}

const toInfo = ({ pid, tag, config }: ProcessEntry) => ({
  pid,
  ...(config === undefined ? {} : { config }),
  ...(tag === undefined ? {} : { tag }),
});

/** Writes one piece of input; throws `internal` when it does not fit the process, `unimplemented` when it is empty. */
const writeInput = async (
  process: RunningProcess,
  input: ProcessInput | undefined,
  signal: AbortSignal,
): Promise<void> => {
  switch (input?.input.case) {
    case 'stdin':
      return process.write(input.input.value, signal);
    case 'pty':
      throw new ApiError('internal', `process ${process.pid} has no terminal`);
    default:
      throw unimplemented('input is empty; set stdin or pty');
  }
};

/** The Connect service over the processes of this sandbox. A caller that goes away never ends a process. */
export const createProcessService = ({ settings }: { settings: SettingsStore }) => {
  const table = createProcessTable();
  return {
    list: () => ({ processes: table.live().map(toInfo) }),

    async *start(request, context) {
      const { process: config, pty, tag, stdin } = request;
      if (config === undefined) throw invalid('process is missing');
      if (pty !== undefined) throw unimplemented('pty is not offered by this version of the agent');
      // A bad header must fail before anything runs.
      keepaliveMsOf(context);
      const started = await startProcess({
        table,
        settings: settings.current,
        user: userOf(context),
        config,
        tag,
        stdin: stdin ?? true,
        lifetimeMs: context.timeoutMs(),
      });
      if ('running' in started) {
        yield* events(started.running.subscribe(), started.running.pid, context);
        return;
      }
      yield startEvent(started.pid);
      yield dataEvent('stderr', Buffer.from(started.message));
      yield endEvent(started.end);
    },

    async *connect(request, context) {
      const { pid, running, end } = table.find(request.process?.selector);
      if (running !== undefined) {
        yield* events(running.subscribe(), pid, context);
      } else if (end !== undefined) {
        yield startEvent(pid);
        yield endEvent(end);
      }
    },

    update(request) {
      const process = table.findRunning(request.process?.selector);
      throw unimplemented(`process ${process.pid} cannot be resized by this version of the agent`);
    },

    async sendInput(request, context) {
      const process = table.findRunning(request.process?.selector);
      await writeInput(process, request.input, context.signal);
      return {};
    },

    async streamInput(requests, context) {
      await writeStream(requests, {
        find: (selector) => table.findRunning(selector),
        write: (process, input) => writeInput(process, input, context.signal),
      });
      return {};
    },

    sendSignal(request) {
      const process = table.findRunning(request.process?.selector);
      if (request.signal === Signal.SIGKILL) process.kill('SIGKILL');
      else if (request.signal === Signal.SIGTERM) process.kill('SIGTERM');
      else throw unimplemented('signal must be SIGNAL_SIGKILL or SIGNAL_SIGTERM');
      return {};
    },

    closeStdin(request) {
      table.findRunning(request.process?.selector).closeStdin();
      return {};
    },
  } satisfies ServiceImpl<typeof Process>;
};
