import type { Socket } from 'node:net';
import { RuntimeError, type RuntimeErrorCode } from './error.ts';

/*
 * Lines of JSON on a connection: one that asks, and one that answers it.
 */

/** The longest line, with its end. */
const maxLineBytes = 8_192;

/** What an answer says beside its success. */
export interface Answer {
  /** The size of an image that is read. */
  sizeBytes?: number;
  /** Whether the node has the image. */
  found?: boolean;
}

/** Writes the line of an answer. */
export const formatAnswer = (answer: Answer | RuntimeError = {}): string =>
  `${JSON.stringify(answer instanceof RuntimeError ? { code: answer.code, message: answer.message.slice(0, 1_000) } : answer)}\n`;

/** Reads the line of an answer. Throws the `RuntimeError` that the line reports. */
export const parseAnswer = (line: string): Answer => {
  const { code, message, sizeBytes, found } = parseObject(line);
  if (code !== undefined) throw new RuntimeError(code as RuntimeErrorCode, String(message));
  return { ...(isSize(sizeBytes) && { sizeBytes }), ...(typeof found === 'boolean' && { found }) };
};

/**
 * Writes a line and resolves when the system has it: HTTP/2 takes the connection over below Node's streams, and Node aborts when a
 * write of theirs is unfinished then. Resolves also when the connection breaks, which its next use reports.
 */
export const writeLine = (socket: Socket, line: string): Promise<void> =>
  new Promise((resolve) => {
    socket.write(line, () => resolve());
  });

/**
 * Reads one line from a connection and leaves the bytes after it in its stream. Rejects with `unavailable` when the connection ends,
 * the line is too long, or it takes longer than that.
 */
export function readLine(socket: Socket, { timeoutMs }: { timeoutMs: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    let read = Buffer.alloc(0);
    const settle = (): void => {
      clearTimeout(timer);
      socket.off('readable', take).off('error', fail).off('end', end).off('close', end);
    };
    const fail = (cause: unknown): void => {
      settle();
      reject(
        new RuntimeError('unavailable', `the connection failed: ${(cause as Error).message}`, { cause }),
      );
    };
    const end = (): void => fail(new Error('the other side closed it'));
    const take = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      read = Buffer.concat([read, chunk]);
      const at = read.indexOf(0x0a);
      if (at < 0 && read.length < maxLineBytes) return;
      if (at < 0) {
        fail(new Error('its first line is too long'));
        return;
      }
      settle();
      const rest = read.subarray(at + 1);
      if (rest.length > 0) socket.unshift(rest);
      resolve(read.toString('utf8', 0, at));
    };
    const timer = setTimeout(() => fail(new Error(`no answer for ${timeoutMs} ms`)), timeoutMs);
    socket.on('readable', take).on('error', fail).on('end', end).on('close', end);
    if (socket.destroyed) end();
  });
}

export const isSize = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

/** Reads a line of JSON. Throws `unsupported` for what is no object. */
export const parseObject = (line: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new RuntimeError(
    'unsupported',
    'the other side of the connection does not speak the protocol of nodes',
  );
};
