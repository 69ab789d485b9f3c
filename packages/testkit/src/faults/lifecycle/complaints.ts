/** The lines of a server's log that report trouble of the server or its helper. */
export const toComplaints = (log: string): string[] =>
  log.split('\n').filter((line) => line !== '' && !['debug', 'info'].includes(readLevel(line) ?? ''));

/** Undefined for a line that the server itself has not written, such as the last words of a process. */
const readLevel = (line: string): string | undefined => {
  try {
    return (JSON.parse(line) as { level?: string }).level;
  } catch {
    return undefined;
  }
};
