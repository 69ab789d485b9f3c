import { expect, it } from 'vitest';
import type { LogEvent } from '../sandbox-log.ts';
import { createOutputLog } from './output-log.ts';

const start = () => {
  const written: LogEvent[] = [];
  const clock = { nowMs: 0 };
  const output = createOutputLog({ write: (event) => written.push(event) }, () => clock.nowMs).of(7);
  const write = (text: string, kind: 'stdout' | 'stderr' = 'stdout'): void =>
    output.write(kind, Buffer.from(text));
  const lines = () => written.map(({ logger, message }) => `${logger}: ${message}`);
  return { output, written, write, lines, clock };
};

it('writes an entry for each line of both outputs, with the pid, and the last one at the end', () => {
  const { output, write, lines, written } = start();
  write('one\ntw');
  write('wrong\n', 'stderr');
  write('o\n\nthree');
  output.write('stdout', Buffer.from('\r\n€').subarray(0, 3));
  output.write('stdout', Buffer.from('€').subarray(1));
  output.end();
  expect(lines()).toEqual(['stdout: one', 'stderr: wrong', 'stdout: two', 'stdout: three', 'stdout: €']);
  expect(written[0]).toEqual({ level: 'info', logger: 'stdout', message: 'one', fields: { pid: '7' } });
});

it('takes a carriage return for the end of a line, as progress bars write it', () => {
  const { write, lines } = start();
  write('10 %\r20 %\r');
  write('30 %\n');
  expect(lines()).toEqual(['stdout: 10 %', 'stdout: 20 %', 'stdout: 30 %']);
});

it('divides long lines, also those without an end', () => {
  const { output, write, written } = start();
  write('x'.repeat(2_500));
  write(`\n${'y'.repeat(1_001)}\n`);
  output.end();
  expect(written.map(({ message }) => message.length)).toEqual([1000, 1000, 500, 1000, 1]);
});

it('writes a bounded amount, and says how much it has dropped', () => {
  const { write, written, lines, clock } = start();
  const flood = `${'z'.repeat(99)}\n`.repeat(100);
  for (let count = 0; count < 1_000; count += 1) write(flood);
  const atOnce = written.reduce((sum, { message }) => sum + message.length, 0);
  expect(atOnce).toBeLessThanOrEqual(64 * 1024);
  expect(atOnce).toBeGreaterThan(16 * 1024);
  clock.nowMs = 10_000;
  write('after\n');
  expect(lines().at(-2)).toMatch(
    /^stdout: 9\d{6} bytes of output were dropped: the log takes 8192 bytes a second$/,
  );
  expect(lines().at(-1)).toMatch(/after$/);
});

it('takes output again within seconds of a flood of short lines', () => {
  const { write, lines, clock } = start();
  for (let count = 0; count < 100; count += 1) write('y\n'.repeat(8_192));
  clock.nowMs = 2_000;
  write('after\n');
  expect(lines().at(-1)).toBe('stdout: after');
});
