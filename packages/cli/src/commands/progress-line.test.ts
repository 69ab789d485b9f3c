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
  line.write('a warning\n');
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
  line.write('text of it\n');
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
  line.write('a warning\n');
  clock.nowMs = 12_400;
  line.show({ message: 'saving' });
  line[Symbol.dispose]();
  expect(text()).toBe('[0 s] unpacking\na warning\n[12 s] saving\n');
});
