import type { ProcessEvent, ProcessEvent_EndEvent } from '@skerry/envd-client/process';

export interface Collected {
  /** The kinds of the events, in their order. */
  kinds: string[];
  pid: number | undefined;
  stdout: string;
  stderr: string;
  pty: string;
  chunkBytes: number[];
  end: Omit<ProcessEvent_EndEvent, '$typeName' | '$unknown'> | undefined;
}

/** Reads a Start or Connect stream to its end. */
export const collectOutput = async (
  stream: AsyncIterable<{ event?: ProcessEvent | undefined }>,
): Promise<Collected> => {
  const collected: Collected = {
    kinds: [],
    pid: undefined,
    stdout: '',
    stderr: '',
    pty: '',
    chunkBytes: [],
    end: undefined,
  };
  const chunks: Record<'stdout' | 'stderr' | 'pty', Uint8Array[]> = { stdout: [], stderr: [], pty: [] };
  for await (const { event: message } of stream) {
    const event = message?.event;
    if (event === undefined) continue;
    if (event.case === 'data') {
      const { output } = event.value;
      collected.kinds.push(output.case ?? 'nothing');
      if (output.case !== undefined) chunks[output.case].push(output.value);
      collected.chunkBytes.push(output.value?.length ?? 0);
      continue;
    }
    collected.kinds.push(event.case ?? 'nothing');
    if (event.case === 'start') collected.pid = event.value.pid;
    if (event.case === 'end') {
      const { exitCode, exited, status, error } = event.value;
      collected.end =
        error === undefined ? { exitCode, exited, status } : { exitCode, exited, status, error };
    }
  }
  collected.stdout = Buffer.concat(chunks.stdout).toString();
  collected.stderr = Buffer.concat(chunks.stderr).toString();
  collected.pty = Buffer.concat(chunks.pty).toString();
  return collected;
};
