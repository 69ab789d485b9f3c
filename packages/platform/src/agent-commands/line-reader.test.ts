import { expect, it } from 'vitest';
import { createLineReader } from './line-reader.ts';

const read = (...chunks: Uint8Array[]): string[] => {
  const lines: string[] = [];
  const reader = createLineReader((line) => lines.push(line));
  for (const chunk of chunks) reader.add(chunk);
  reader.end();
  return lines;
};

it('splits output into lines wherever its pieces end, also inside a character', () => {
  const bytes = Buffer.from('one\ntwö\r\n\nlast');
  expect(read(bytes)).toEqual(['one', 'twö', '', 'last']);
  expect(read(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(['one', 'twö', '', 'last']);
});

it('shows a line that was written over as it ended', () => {
  expect(read(Buffer.from(' 1 %\r50 %\r100 %\ndone\n'))).toEqual(['100 %', 'done']);
});

it('passes on output without line ends before it fills the memory', () => {
  expect(read(...Array.from({ length: 5 }, () => Buffer.alloc(1000, 'x')))).toEqual(['x'.repeat(5000)]);
});
