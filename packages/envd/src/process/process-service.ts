import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { ApiError, invalid, unimplemented } from '@skerry/contract/error';
import { type Process, type ProcessInput, Signal } from '@skerry/envd-client/process';
import { follow, SILENCE } from '../host/event-queue.ts';
import type { SandboxLog } from '../host/sandbox-log.ts';
import { keepaliveMsOf, userOf, whenGone } from '../rpc/context.ts';
import type { SettingsStore } from '../settings.ts';
import type { ExitStatus } from './exit-status.ts';
import { createOutputBudget } from './output/output-budget.ts';
import type { OutputKind } from './output/output-journal.ts';
import { SlowReaderError } from './output/process-output.ts';
import { writeStream } from './output/write-stream.ts';
import { createProcessTable, type ProcessEntry } from './process-table.ts';
import type { RunningProcess } from './running-process.ts';
import { startProcess } from './start-process.ts';
import type { Terminal } from './terminal.ts';
import { parseTerminalSize } from './terminal-size.ts';

const MAX_HOLD_MS = 30_000;

const startEvent = (value: { pid: number; offset?: bigint }) => ({
  event: { event: { case: 'start' as const, value } },
});
const endEvent = (value: ExitStatus) => ({ event: { event: { case: 'end' as const, value } } });
const dataEvent = (kind: OutputKind, value: Uint8Array) => ({
  event: { event: { case: 'data' as const, value: { output: { case: kind, value } } } },
});
const KEEPALIVE = { event: { event: { case: 'keepalive' as const, value: {} } } };

/** `start`, then what the output delivers. */
async function* events(
  { pid, output }: ProcessEntry,
  { offset, holdMs = 0, tellsOffset }: { offset?: number; holdMs?: number | undefined; tellsOffset: boolean },
  context: HandlerContext,
) {
  const keepaliveMs = keepaliveMsOf(context);
  const reader = output.subscribe({ offset, holdMs: Math.min(holdMs, MAX_HOLD_MS) });
  whenGone(context, reader.unsubscribe);
  try {
    yield startEvent(tellsOffset ? { pid, offset: BigInt(reader.offset) } : { pid });
    for await (const event of follow(reader, { signal: context.signal, keepaliveMs })) {
      if (event === SILENCE) yield KEEPALIVE;
      else if (event.case === 'end') yield endEvent(event.value);
      else yield dataEvent(event.case, event.value);
    }
  } catch (error) {
    if (error instanceof SlowReaderError) throw new ConnectError(error.message, Code.Aborted);
    throw error;
  } finally {
    reader.unsubscribe();
  }
}

const toInfo = ({ pid, tag, config }: ProcessEntry) => ({
  pid,
  ...(config === undefined ? {} : { config }),
  ...(tag === undefined ? {} : { tag }),
});

const terminalOf = ({ pid, terminal }: RunningProcess): Terminal => {
  if (terminal === undefined) throw new ApiError('internal', `process ${pid} has no terminal`);
  return terminal;
};

/** Writes one piece of input; throws `internal` when it does not fit the process, `unimplemented` when it is empty. */
const writeInput = async (
  process: RunningProcess,
  input: ProcessInput | undefined,
  signal: AbortSignal,
): Promise<void> => {
  // A deadline can pass while the request is read; whoever waits below hears only of what comes later.
  signal.throwIfAborted();
  switch (input?.input.case) {
    case 'stdin':
      return process.write(input.input.value, signal);
    case 'pty':
      return terminalOf(process).write(input.input.value, signal);
    default:
      throw unimplemented('input is empty; set stdin or pty');
  }
};

/** The Connect service over the processes of this sandbox. A caller that goes away never ends a process. */
export const createProcessService = ({ settings, log }: { settings: SettingsStore; log: SandboxLog }) => {
  const table = createProcessTable();
  const budget = createOutputBudget();
  return {
    list: () => ({ processes: table.live().map(toInfo) }),

    async *start(request, context) {
      const { process: config, pty, tag, stdin, holdMs } = request;
      if (config === undefined) throw invalid('process is missing');
      // A bad header must fail before anything runs.
      keepaliveMsOf(context);
      const entry = await startProcess({
        table,
        budget,
        log,
        settings: settings.current,
        user: userOf(context),
        config,
        tag,
        stdin: stdin ?? true,
        terminalSize: pty && parseTerminalSize(pty.size),
        lifetimeMs: context.timeoutMs(),
      });
      yield* events(entry, { offset: 0, holdMs, tellsOffset: false }, context);
    },

    async *connect({ process, offset, holdMs }, context) {
      // Who gave no offset may not know the field of the reply, and may be strict about it.
      const from =
        offset === undefined ? { tellsOffset: false } : { offset: Number(offset), tellsOffset: true };
      yield* events(table.find(process?.selector), { ...from, holdMs }, context);
    },

    update(request) {
      const terminal = terminalOf(table.findRunning(request.process?.selector));
      terminal.resize(parseTerminalSize(request.pty?.size));
      return {};
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
      const process = table.findRunning(request.process?.selector);
      if (process.terminal !== undefined) {
        throw new ConnectError('a terminal cannot be closed; send its end-of-file character', Code.Unknown);
      }
      process.closeStdin();
      return {};
    },
  } satisfies ServiceImpl<typeof Process>;
};
