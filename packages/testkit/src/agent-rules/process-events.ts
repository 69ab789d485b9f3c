import type { EnvdClient } from '@skerry/envd-client';
import type { OutputOffsets, ProcessEvent, ProcessEvent_EndEvent } from '@skerry/envd-client/process';

export type ProcessStream = AsyncIterable<{ event?: ProcessEvent | undefined }>;

/** What a Start or Connect stream delivered. */
export interface ProcessTrace {
  pid: number;
  /** The offset of the start message; undefined when it has none. */
  offset: bigint | undefined;
  /** Each message after the first by its kind, repeated kinds once. */
  kinds: string[];
  stdout: string;
  stderr: string;
  pty: string;
  pieceBytes: number[];
  end: Pick<ProcessEvent_EndEvent, 'exitCode' | 'exited' | 'status' | 'error'> | undefined;
}

export const sh = (script: string) => ({ process: { cmd: '/bin/bash', args: ['-c', script] } });
export const byPid = (value: number) => ({ process: { selector: { case: 'pid' as const, value } } });
export const byTag = (value: string) => ({ process: { selector: { case: 'tag' as const, value } } });
export const stdin = (text: string) => ({ input: { case: 'stdin' as const, value: Buffer.from(text) } });
export const pty = (text: string) => ({ input: { case: 'pty' as const, value: Buffer.from(text) } });

export interface BegunStream {
  pid: number;
  /** The offset of both kinds together, when the request gave one. */
  offset?: bigint;
  offsets?: OutputOffsets;
  rest: ProcessStream;
}

/** Reads the start message, which must be the first, and gives the stream behind it. */
export const begin = async (stream: ProcessStream): Promise<BegunStream> => {
  const iterator = stream[Symbol.asyncIterator]();
  const next = await iterator.next();
  const first = next.done ? undefined : next.value.event?.event;
  if (first?.case !== 'start') throw new Error(`the first message is ${first?.case}, not start`);
  const rest: ProcessStream = { [Symbol.asyncIterator]: () => iterator };
  const { pid, skerryOffset: offset, offsets } = first.value;
  return { pid, ...(offset === undefined ? {} : { offset }), ...(offsets && { offsets }), rest };
};

/** Reads a stream to its end. Rejects when something comes before `start` or after `end`. */
export const trace = async (stream: ProcessStream): Promise<ProcessTrace> => traceRest(await begin(stream));

/** Reads a stream that has begun to its end. */
export const traceRest = async ({ pid, offset, rest }: BegunStream): Promise<ProcessTrace> => {
  const chunks: Record<'stdout' | 'stderr' | 'pty', Uint8Array[]> = { stdout: [], stderr: [], pty: [] };
  const kinds: string[] = [];
  const pieceBytes: number[] = [];
  let end: ProcessTrace['end'];
  for await (const { event: message } of rest) {
    if (end !== undefined) throw new Error('a message came after the end');
    const event = message?.event;
    const output = event?.case === 'data' ? event.value.output : undefined;
    const kind = output?.case ?? event?.case ?? 'nothing';
    if (kinds.at(-1) !== kind) kinds.push(kind);
    if (output?.case !== undefined) {
      chunks[output.case].push(output.value);
      pieceBytes.push(output.value.length);
    } else if (event?.case === 'end') {
      const { exitCode, exited, status, error } = event.value;
      end = { exitCode, exited, status, ...(error === undefined ? {} : { error }) };
    }
  }
  const text = (kind: keyof typeof chunks): string => Buffer.concat(chunks[kind]).toString();
  return {
    pid,
    offset,
    kinds,
    stdout: text('stdout'),
    stderr: text('stderr'),
    pty: text('pty'),
    pieceBytes,
    end,
  };
};

/** Runs a script of bash to its end. */
export const runScript = ({ process }: EnvdClient, script: string): Promise<ProcessTrace> =>
  trace(process.start(sh(script)));
