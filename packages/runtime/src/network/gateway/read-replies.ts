import type { Readable } from 'node:stream';

/** The line with which the gateway answers a request. */
export interface Reply {
  id: number;
  /** Why the request failed. */
  error?: string | undefined;
}

/** The most characters of a line. */
const MAX_LINE = 16_384;

/**
 * Reads the replies of the gateway, which serves sandboxes and is not trusted. Calls `onNonsense` once, and reads no more, when a line is
 * no reply or is too long to be one.
 */
export const readReplies = (
  output: Readable,
  { onReply, onNonsense }: { onReply(reply: Reply): void; onNonsense(): void },
): void => {
  let rest = '';
  const read = (text: string): void => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    const replies = lines.map(parseReply);
    for (const reply of replies) if (reply !== undefined) onReply(reply);
    if (rest.length <= MAX_LINE && !replies.includes(undefined)) return;
    output.off('data', read).resume();
    onNonsense();
  };
  // The end of the process is what is acted on.
  output.on('error', () => undefined);
  output.setEncoding('utf8').on('data', read);
};

const parseReply = (line: string): Reply | undefined => {
  if (line.length > MAX_LINE) return undefined;
  try {
    const { id, error } = JSON.parse(line) as { id: unknown; error?: unknown };
    if (typeof id !== 'number' || (error !== undefined && typeof error !== 'string')) return undefined;
    return { id, error };
  } catch {
    // Neither JSON nor an object.
    return undefined;
  }
};
