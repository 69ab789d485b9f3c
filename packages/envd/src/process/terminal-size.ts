import { invalid } from '@skerry/contract/error';

/** The size of a terminal, in characters. */
export interface TerminalSize {
  cols: number;
  rows: number;
}

/** struct winsize (ioctl_tty(2)) has 16 bits for each. */
const MAX = 0xffff;

/** Throws `invalid_argument` when the size is missing, or one of the two is 0 or above 65535. */
export const parseTerminalSize = (size: TerminalSize | undefined): TerminalSize => {
  if (size === undefined) throw invalid('pty.size is missing');
  const { cols, rows } = size;
  for (const [name, value] of Object.entries({ cols, rows })) {
    if (value < 1 || value > MAX) {
      throw invalid(`pty.size.${name} must be between 1 and ${MAX}, got ${value}`);
    }
  }
  return { cols, rows };
};
