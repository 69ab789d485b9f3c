import { readFileSync } from 'node:fs';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { describe, expect, it } from 'vitest';
import { type OciFixture, useOci } from '../testing/oci-fixture.ts';
import {
  type KnownDifference,
  knownDifferences,
  unsteady,
} from '../testing/self-record/known-differences.ts';
import { readRecord, type SelfRecord, startRecorder } from '../testing/self-record/self-record.ts';
import { useSentry } from '../testing/sentry-lab.ts';

const findOther = (before: SelfRecord, after: SelfRecord): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((key) => before[key] !== after[key]);

const isOf = (key: string, rows: readonly KnownDifference[]): boolean =>
  rows.some(([pattern]) => pattern.test(key));

/** Rows that none of the keys is of. A kernel may lack an option of a socket. */
const findIdle = (rows: readonly KnownDifference[], other: readonly string[], seen: SelfRecord): RegExp[] =>
  rows
    .map(([pattern]) => pattern)
    .filter((pattern) => !other.some((key) => pattern.test(key)))
    .filter(
      (pattern) =>
        !pattern.source.startsWith('^socket') || Object.keys(seen).some((key) => pattern.test(key)),
    );

const readPage = (): string => {
  const file = new URL('../../../../../../docs/pause.md', import.meta.url);
  return readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ');
};

const compare = async (
  level: IsolationLevel,
  { create, toId }: Pick<OciFixture, 'create' | 'toId'>,
): Promise<SelfRecord> => {
  const { always, ofCopy } = knownDifferences[level];
  const tolerated = level === 'gvisor' ? unsteady : [];
  const page = readPage();
  for (const [, words] of [...always, ...ofCopy, ...tolerated]) expect(page).toContain(words);
  const source = await create();
  await startRecorder(source, level);
  const before = await readRecord(source, 'before');
  const snapshot = toId();
  await source.snapshot({ id: snapshot, memory: true });
  const inFork = await readRecord(await create({ snapshot }, 'other'), 'fork');
  const show = (after: SelfRecord) => (key: string) => `${key}: ${before[key]} -> ${after[key]}`;
  const otherInFork = findOther(before, inFork);
  const unknownInFork = otherInFork.filter((key) => !isOf(key, [...always, ...ofCopy, ...tolerated]));
  expect(unknownInFork.map(show(inFork))).toEqual([]);
  await source.pause({ memory: true });
  await source.resume();
  const after = await readRecord(source, 'after');
  const other = findOther(before, after);
  expect(other.filter((key) => !isOf(key, [...always, ...tolerated])).map(show(after))).toEqual([]);
  expect(findIdle(always, [...other, ...otherInFork], before)).toEqual([]);
  expect(findIdle(ofCopy, otherInFork, before)).toEqual([]);
  return before;
};

describe('a program that records all that it sees of itself', () => {
  describe('at level container', () => {
    const oci = useOci({ name: 'self', memory: true, internet: true });

    it('finds nothing that is other after a pause and in a fork but what docs/pause.md lists', async () => {
      const before = await compare('container', oci);
      const threads = [1, 2, 3].map((thread) => `process main thread ${thread}`);
      for (const thread of [...threads, 'process changed thread 0']) {
        expect(before[`${thread} timer slack`]).toBe('1234567');
        expect(before[`${thread} io priority`]).toBe(String((2 << 13) | 6));
        expect(before[`${thread} affinity`]).toMatch(/^\[\d+\]$/);
      }
      // What a process has taken with SEM_UNDO comes back when it ends.
      expect(before['system v undone']).toBe('1');
    });
  });

  describe('at level gvisor', () => {
    const oci = useSentry('selfs');

    it('finds nothing that is other after a pause and in a fork but what docs/pause.md lists', async () => {
      const before = await compare('gvisor', oci);
      expect(Object.keys(before).length).toBeGreaterThan(1500);
    });
  });
});
