import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { ApiError, invalid, unimplemented } from '@skerry/contract/error';
import { type Process, type ProcessInput, Signal } from '@skerry/envd-client/process';
import { follow, SILENCE } from '../host/event-queue.ts';
import { keepaliveMsOf, userOf, whenGone } from '../rpc/context.ts';
import { isStrict } from '../rpc/strict-client.ts';
import type { SandboxLog } from '../sandbox-log.ts';
import type { SettingsStore } from '../settings.ts';
import type { ExitStatus } from './exit-status.ts';
import { createOutputBudget } from './output/output-budget.ts';
import type { OutputKind, OutputOffsets } from './output/output-journal.ts';
import {
  LostOutputError,
  type ProcessOutput,
  SlowReaderError,
  type SubscribeOptions,
  type Subscription,
} from './output/process-output.ts';
import { writeStream } from './output/write-stream.ts';
import { createOutputLog } from './output-log.ts';
import { createProcessTable, type ProcessEntry } from './process-table.ts';
import type { RunningProcess } from './running-process.ts';
import { startProcess } from './start-process.ts';
import type { Terminal } from './terminal.ts';
import { parseTerminalSize } from './terminal-size.ts';

interface EventsOptions {
  offset?: number | undefined;
  resumeFrom?: OutputOffsets | undefined;
  holdMs: number | undefined;
}

const startEvent = (value: { pid: number; offsets?: PlainOffsets; skerryOffset?: bigint }) => ({
  event: { event: { case: 'start' as const, value } },
});
const endEvent = (value: ExitStatus) => ({ event: { event: { case: 'end' as const, value } } });
/** What a client that rejects unknown fields can read of an end. */
const toFirstStatus = (status: ExitStatus): ExitStatus => {
  const { skerrySignal: _, ...first } = status;
  return first;
};
const dataEvent = (value: { output: { case: OutputKind; value: Uint8Array }; offset?: bigint }) => ({
  event: { event: { case: 'data' as const, value } },
});
const KEEPALIVE = { event: { event: { case: 'keepalive' as const, value: {} } } };

type PlainOffsets = Record<OutputKind, bigint>;

const toMessage = ({ stdout, stderr, pty }: OutputOffsets): PlainOffsets => ({
  stdout: BigInt(stdout),
  stderr: BigInt(stderr),
  pty: BigInt(pty),
});

const fromMessage = ({ stdout, stderr, pty }: PlainOffsets): OutputOffsets => ({
  stdout: Number(stdout),
  stderr: Number(stderr),
  pty: Number(pty),
});

/** `start`, then what the output delivers. */
async function* events(
  { pid, output }: ProcessEntry,
  { offset, resumeFrom, holdMs }: EventsOptions,
  { asked, context }: { asked: boolean; context: HandlerContext },
) {
  const keepaliveMs = keepaliveMsOf(context);
  const reader = subscribe(output, { offset, resumeFrom, holdMs });
  whenGone(context, reader.unsubscribe);
  // A client that rejects unknown fields knows these only if its request had one of them.
  const hasOffsets = resumeFrom !== undefined || !isStrict(context);
  try {
    yield startEvent({
      pid,
      ...(hasOffsets && { offsets: toMessage(reader.positions) }),
      ...(asked && { skerryOffset: BigInt(reader.offset) }),
    });
    for await (const event of follow(reader, { signal: context.signal, keepaliveMs })) {
      if (event === SILENCE) yield KEEPALIVE;
      else if (event.case === 'end')
        yield endEvent(isStrict(context) ? toFirstStatus(event.value) : event.value);
      else {
        const piece = { case: event.case, value: event.value };
        yield dataEvent(hasOffsets ? { output: piece, offset: BigInt(event.position) } : { output: piece });
      }
    }
  } catch (error) {
    if (error instanceof SlowReaderError) throw new ConnectError(error.message, Code.Aborted);
    throw error;
  } finally {
    reader.unsubscribe();
  }
}

const subscribe = (output: ProcessOutput, options: SubscribeOptions): Subscription => {
  try {
    return output.subscribe(options);
  } catch (error) {
    if (error instanceof LostOutputError) throw new ConnectError(error.message, Code.OutOfRange);
    throw error;
  }
};

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
  // The deadline may have passed while the request was read; the listeners below see only later aborts.
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
  const outputLog = createOutputLog(log);
  return {
    list: () => ({ processes: table.live().map(toInfo) }),

    async *start(request, context) {
      const { process: config, pty, tag, stdin, skerryHoldMs: holdMs, skerryLogOutput } = request;
      if (config === undefined) throw invalid('process is missing');
      // A bad header must fail before anything runs.
      keepaliveMsOf(context);
      const entry = await startProcess({
        table,
        budget,
        log,
        outputLog,
        settings: settings.current,
        user: userOf(context),
        config,
        tag,
        stdin: stdin ?? true,
        terminalSize: pty && parseTerminalSize(pty.size),
        logsOutput: skerryLogOutput ?? false,
        lifetimeMs: context.timeoutMs(),
      });
      yield* events(entry, { offset: 0, holdMs }, { asked: false, context });
    },

    async *connect({ process, resumeFrom, skerryOffset, skerryHoldMs }, context) {
      if (resumeFrom !== undefined && skerryOffset !== undefined)
        throw invalid('resume_from and skerry_offset exclude each other; set one of them');
      const entry = table.find(process?.selector);
      const from = {
        offset: skerryOffset === undefined ? undefined : Number(skerryOffset),
        resumeFrom: resumeFrom && fromMessage(resumeFrom),
        holdMs: skerryHoldMs,
      };
      yield* events(entry, from, { asked: skerryOffset !== undefined, context });
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
