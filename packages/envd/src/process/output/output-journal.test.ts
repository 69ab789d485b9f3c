import { describe, expect, it } from 'vitest';
import { createOutputJournal, type OutputJournal, type OutputKind } from './output-journal.ts';

const KIBIBYTE = 1024;

/** What is kept, read piece by piece from its start. */
const readAll = (journal: OutputJournal): { kind: OutputKind; text: string; offset: number }[] => {
  const pieces: { kind: OutputKind; text: string; offset: number }[] = [];
  let offset = journal.start;
  for (let piece = journal.read(offset); piece !== undefined; piece = journal.read(offset)) {
    pieces.push({ kind: piece.kind, text: Buffer.from(piece.bytes).toString('latin1'), offset });
    offset += piece.bytes.length;
  }
  expect(offset).toBe(journal.end);
  return pieces;
};

/** The piece at an offset, and whether it is the beginning of a character. */
const look = (journal: OutputJournal, offset: number): unknown => {
  const piece = journal.read(offset);
  return piece && [Buffer.from(piece.bytes).toString('latin1'), piece.isBegun];
};

describe('an output journal', () => {
  it('gives back all kinds in their order, each byte at its offset', () => {
    const journal = createOutputJournal();
    for (const [kind, text] of [
      ['stdout', 'ab'],
      ['stdout', 'c'],
      ['stderr', ''],
      ['stderr', 'de'],
      ['stdout', 'f'],
    ] as const) {
      journal.append(kind, Buffer.from(text));
    }
    expect(readAll(journal)).toEqual([
      { kind: 'stdout', text: 'abc', offset: 0 },
      { kind: 'stderr', text: 'de', offset: 3 },
      { kind: 'stdout', text: 'f', offset: 5 },
    ]);
    expect(journal.read(4)).toMatchObject({ kind: 'stderr', bytes: Uint8Array.of(0x65) });
    expect(journal.read(6)).toBeUndefined();
  });

  it('counts each kind for itself and finds a byte by its number, as long as it is kept', () => {
    const journal = createOutputJournal();
    journal.append('stdout', Buffer.from('abc'));
    journal.append('stderr', Buffer.from('de'));
    journal.append('stdout', Buffer.from('f'));
    expect([0, 2, 4, 5, 6].map((offset) => Object.values(journal.positionsAt(offset)))).toEqual([
      [0, 0, 0],
      [2, 0, 0],
      [3, 1, 0],
      [3, 2, 0],
      [4, 2, 0],
    ]);
    expect([journal.find('stdout', 2), journal.find('stdout', 3), journal.find('stderr', 1)]).toEqual([
      2, 5, 4,
    ]);
    expect([journal.find('stdout', 4), journal.find('pty', 0)]).toEqual([6, 6]);
    expect(journal.read(5)).toMatchObject({ kind: 'stdout', position: 3 });
    journal.dropBefore(6);
    journal.append('stdout', Buffer.from('g'));
    expect([journal.find('stdout', 3), journal.find('stdout', 4), journal.find('stderr', 2)]).toEqual([
      undefined,
      6,
      7,
    ]);
    expect(journal.positionsAt(6)).toEqual({ stdout: 4, stderr: 2, pty: 0 });
  });

  it('keeps pieces of any size and mixture byte for byte, in messages of the allowed length', () => {
    const journal = createOutputJournal();
    const kinds = ['stdout', 'stderr', 'pty'] as const;
    const written: Record<string, Buffer[]> = { stdout: [], stderr: [], pty: [] };
    for (let at = 0; at < 300; at += 1) {
      const kind = kinds[at % 7 === 0 ? 1 : at % 5 === 0 ? 2 : 0] ?? 'stdout';
      const bytes = Buffer.alloc((at * at * 7) % (100 * KIBIBYTE), `${at} `);
      written[kind]?.push(bytes);
      journal.append(kind, bytes);
    }
    const pieces = readAll(journal);
    for (const kind of kinds) {
      const own = pieces.filter((piece) => piece.kind === kind).map(({ text }) => text);
      expect(own.join('') === Buffer.concat(written[kind] ?? []).toString('latin1')).toBe(true);
      expect(Math.max(...own.map(({ length }) => length))).toBe((kind === 'pty' ? 16 : 32) * KIBIBYTE);
      expect(Math.min(...own.map(({ length }) => length))).toBeGreaterThan(0);
    }
  });

  it('ends pieces of text with whole characters wherever the process cut them, and terminals anywhere', () => {
    const text = Buffer.from('aé€𝄞 '.repeat(40_000));
    for (const step of [1, 2, 3, 4, 5, 7, 1_000, 16_384, 65_536, 100_001]) {
      const journal = createOutputJournal();
      for (let at = 0; at < text.length; at += step) journal.append('stdout', text.subarray(at, at + step));
      const pieces = readAll(journal).map((piece) => Buffer.from(piece.text, 'latin1'));
      expect(Buffer.concat(pieces).equals(text)).toBe(true);
      for (const piece of pieces) {
        expect(piece.toString()).not.toContain('\ufffd');
        expect(piece.length).toBeLessThanOrEqual(32 * KIBIBYTE);
      }
      // A split at each character would leave a small piece beside each large one.
      expect(pieces.length).toBeLessThanOrEqual(Math.ceil(text.length / 16_384) + 10);
    }
    const terminal = createOutputJournal();
    terminal.append('pty', text.subarray(0, 2));
    expect(look(terminal, 0)).toEqual(['a\xc3', false]);
  });

  it('says of the last bytes that they begin a character, unless output of another kind has followed', () => {
    const journal = createOutputJournal();
    const [first, second, third] = [0xe2, 0x82, 0xac];
    journal.append('stdout', Buffer.from([0x61, first]));
    expect([look(journal, 0), look(journal, 1)]).toEqual([
      ['a', false],
      ['\xe2', true],
    ]);
    journal.append('stdout', Buffer.from([second]));
    expect(look(journal, 1)).toEqual(['\xe2\x82', true]);
    journal.append('stderr', Buffer.from('!'));
    expect(look(journal, 1)).toEqual(['\xe2\x82', false]);
    journal.append('stdout', Buffer.from([third]));
    expect(look(journal, 4)).toEqual(['\xac', false]);
  });

  it('takes little for little, and counts what many changes of the kind take', () => {
    const quiet = createOutputJournal();
    quiet.append('stdout', Buffer.from('hello\n'));
    expect(quiet.costBytes).toBeGreaterThanOrEqual('hello\n'.length);
    expect(quiet.costBytes).toBeLessThan(2 * KIBIBYTE);
    const restless = createOutputJournal();
    for (let at = 0; at < 10_000; at += 1) restless.append(at % 2 ? 'stdout' : 'stderr', Buffer.from('x'));
    expect(restless.costBytes).toBeGreaterThan(300 * KIBIBYTE);
  });

  it('gives up the oldest first and keeps the offsets of the rest', () => {
    const journal = createOutputJournal();
    const all = Buffer.from(Array.from({ length: 300 * KIBIBYTE }, (_, at) => (at * 31) % 251));
    journal.append('stderr', all.subarray(0, 5));
    journal.append('stdout', all.subarray(5));
    journal.dropOldest();
    expect(journal.start).toBeGreaterThan(0);
    const kept = readAll(journal);
    expect(kept.every(({ kind }) => kind === 'stdout')).toBe(true);
    expect(kept.map(({ text }) => text).join('') === all.subarray(journal.start).toString('latin1')).toBe(
      true,
    );
    journal.dropBefore(200 * KIBIBYTE + 1);
    expect(journal.start).toBeLessThanOrEqual(200 * KIBIBYTE + 1);
    expect(journal.read(200 * KIBIBYTE + 1)?.bytes[0]).toBe(all[200 * KIBIBYTE + 1]);
    journal.dropBefore(journal.end);
    expect([journal.start, journal.costBytes]).toEqual([journal.end, 0]);
    journal.append('stderr', Buffer.from('more'));
    expect(readAll(journal)).toEqual([{ kind: 'stderr', text: 'more', offset: 300 * KIBIBYTE }]);
  });
});
