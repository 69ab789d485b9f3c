import type { Readable } from 'node:stream';

/**
 * Calls `onLine` for each line of a stream, without its end. Destroys the stream with an error when a line grows
 * longer than `maxBytes`: nothing on the other side makes this process hold more than that.
 */
export function readLines(
  stream: Readable,
  options: { maxBytes: number; onLine: (line: string) => void },
): void {
  let parts: Buffer[] = [];
  let length = 0;
  stream.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(parts);
      parts = [];
      length = 0;
      if (line.length > options.maxBytes) return tooLong();
      options.onLine(line.toString('utf8'));
    }
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > options.maxBytes) tooLong();
  });
  const tooLong = (): void => {
    parts = [];
    stream.destroy(new Error(`a line is longer than ${options.maxBytes} bytes`));
  };
}
