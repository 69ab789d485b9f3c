const MAX_LINE_LENGTH = 4_000;

/** Splits output into lines. A progress bar that rewrites its line counts once, as it ended. */
export const createLineReader = (
  onLine: (line: string) => void,
): { add(bytes: Uint8Array): void; end(): void } => {
  const decoder = new TextDecoder();
  let rest = '';
  const emitLine = (line: string): void => {
    const shown = line.replace(/\r+$/, '');
    onLine(shown.slice(shown.lastIndexOf('\r') + 1));
  };
  return {
    add: (bytes) => {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) emitLine(line);
      // Output without line ends must not fill the memory.
      if (rest.length <= MAX_LINE_LENGTH) return;
      emitLine(rest);
      rest = '';
    },
    end: () => {
      rest += decoder.decode();
      if (rest !== '') emitLine(rest);
      rest = '';
    },
  };
};
