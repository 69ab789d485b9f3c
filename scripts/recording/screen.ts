import type { Terminal } from '@xterm/headless';

/** Cells beside each other that look the same. */
export interface Span {
  column: number;
  text: string;
  /** 0 to 15; undefined for that of the terminal. */
  color: number | undefined;
  bold: boolean;
  dim: boolean;
}

/** What a terminal shows: its rows, and the cell of its cursor. */
export interface Screen {
  rows: Span[][];
  cursor: { column: number; row: number };
}

/** Reads what a terminal shows now. Spaces at the ends of a span are left out. */
export function readScreen(terminal: Terminal): Screen {
  const buffer = terminal.buffer.active;
  return {
    rows: Array.from({ length: terminal.rows }, (_, row) => readRow(terminal, buffer.baseY + row)),
    cursor: { column: buffer.cursorX, row: buffer.cursorY },
  };
}

function readRow(terminal: Terminal, at: number): Span[] {
  const line = terminal.buffer.active.getLine(at);
  const spans: Span[] = [];
  for (let column = 0; column < terminal.cols; column += 1) {
    const cell = line?.getCell(column);
    if (cell === undefined) break;
    const look = {
      color: cell.isFgPalette() && cell.getFgColor() < 16 ? cell.getFgColor() : undefined,
      bold: cell.isBold() !== 0,
      dim: cell.isDim() !== 0,
    };
    const last = spans.at(-1);
    const text = cell.getChars() || ' ';
    if (last && last.color === look.color && last.bold === look.bold && last.dim === look.dim)
      last.text += text;
    else spans.push({ column, text, ...look });
  }
  return spans.map(trim).filter(({ text }) => text !== '');
}

const trim = (span: Span): Span => {
  const text = span.text.trimEnd();
  return { ...span, column: span.column + text.length - text.trimStart().length, text: text.trimStart() };
};
