import { expect, it } from 'vitest';
import { createProgressLine } from './progress-line.ts';

const collect = (isTTY: boolean, columns?: number) => {
  const pieces: string[] = [];
  const clock = { nowMs: 0 };
  const stream = {
    isTTY,
    ...(columns === undefined ? {} : { columns }),
    write: (piece: string) => pieces.push(piece),
  };
  const line = createProgressLine(stream, () => clock.nowMs);
  return { line, text: () => pieces.join(''), clock };
};

it('shows on a terminal the step in progress with its part and its time, and other text above it', () => {
  const { line, text, clock } = collect(true);
  line.show({ message: 'unpacking', fraction: 0.2 });
  clock.nowMs = 4000;
  line.show({ message: 'unpacking', fraction: 0.5 });
  line.writeLine('a warning');
  line.show({ message: 'saving' });
  line[Symbol.dispose]();
  expect(text().replaceAll('\r\u001b[K', '|')).toBe(
    '|unpacking (20 %, 0 s)|unpacking (50 %, 4 s)|a warning\n|unpacking (50 %, 4 s)\n|saving (0 s)\n',
  );
});

it('cuts the step in progress to the width of the terminal, and shows all of it when it ends', () => {
  const { line, text, clock } = collect(true, 20);
  line.show({ message: 'a step with a long title' });
  clock.nowMs = 10_000;
  line.writeLine('text of it');
  line.show({ message: 'short' });
  line[Symbol.dispose]();
  expect(text().replaceAll('\r\u001b[K', '|')).toBe(
    '|a step with … (0 s)|text of it\n|a step with… (10 s)|a step with a long title (10 s)\n|short (0 s)\n',
  );
});

it('writes a line with the time for each message elsewhere, and none again', () => {
  const { line, text, clock } = collect(false);
  line.show({ message: 'unpacking', fraction: 0.2 });
  line.show({ message: 'unpacking', fraction: 0.5 });
  line.writeLine('a warning');
  clock.nowMs = 12_400;
  line.show({ message: 'saving' });
  line[Symbol.dispose]();
  expect(text()).toBe('[0 s] unpacking\na warning\n[12 s] saving\n');
});

it('writes the lines of a step below its message, and its time below them', () => {
  const { line, text, clock } = collect(true, 20);
  line.show({ message: 'a step with a long title' });
  line.writeBelow('first');
  clock.nowMs = 2_000;
  line.writeBelow('second');
  line.show({ message: 'short' });
  line.writeBelow('of it');
  line[Symbol.dispose]();
  expect(text().replaceAll('\r\u001b[K', '|')).toBe(
    '|a step with … (0 s)|a step with a long title\n|first\n|  (0 s)|second\n|  (2 s)\n|short (0 s)|short\n|of it\n|  (0 s)\n',
  );
  const piped = collect(false);
  piped.line.show({ message: 'a step' });
  piped.line.writeBelow('first');
  piped.line[Symbol.dispose]();
  expect(piped.text()).toBe('[0 s] a step\nfirst\n');
});

it('shows no control character of a message or a line', () => {
  for (const isTTY of [true, false]) {
    const { line, text } = collect(isTTY);
    line.show({ message: 'RUN \u001b[2Jx\n[9 s] forged' });
    line.writeLine('\u009b31m\u202e\nforged');
    line[Symbol.dispose]();
    const shown = text().replaceAll('\r\u001b[K', '');
    expect(shown).toContain('RUN \\x1b[2Jx\\x0a[9 s] forged');
    expect(shown).toContain('\\x9b31m\\u202e\\x0aforged\n');
    expect(shown).toMatch(/^[\x20-\x7e\n]*$/);
  }
});
