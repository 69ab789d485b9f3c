import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { useOci } from '../testing/oci-fixture.ts';
import { knownDifferences, ownOfCopy } from '../testing/self-record/known-differences.ts';
import { readRecord, type SelfRecord, startRecorder } from '../testing/self-record/self-record.ts';

const { create, toId } = useOci({ name: 'self', memory: true, internet: true });

/** What is other, and not known to be. */
const findUnknown = (before: SelfRecord, after: SelfRecord, known: readonly [RegExp, string][]): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((key) => before[key] !== after[key] && !known.some(([pattern]) => pattern.test(key)))
    .map((key) => `${key}: ${before[key]} -> ${after[key]}`);

describe('a program that records all that it sees of itself', () => {
  let page = '';
  beforeAll(() => {
    const file = new URL('../../../../../../docs/pause.md', import.meta.url);
    page = readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ');
  });

  it('finds nothing that is other after a pause and in a fork but what docs/pause.md lists', async () => {
    for (const [, words] of [...knownDifferences, ...ownOfCopy]) expect(page).toContain(words);
    const source = await create();
    await startRecorder(source, 'container');
    const before = await readRecord(source, 'before');
    const threads = [1, 2, 3].map((thread) => `process main thread ${thread}`);
    for (const thread of [...threads, 'process changed thread 0']) {
      expect(before[`${thread} timer slack`]).toBe('1234567');
      expect(before[`${thread} io priority`]).toBe(String((2 << 13) | 6));
      expect(before[`${thread} affinity`]).toMatch(/^\[\d+\]$/);
    }
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const fork = await create({ snapshot }, 'other');
    const inFork = await readRecord(fork, 'fork');
    expect(findUnknown(before, inFork, [...knownDifferences, ...ownOfCopy])).toEqual([]);
    await source.pause({ memory: true });
    await source.resume();
    expect(findUnknown(before, await readRecord(source, 'after'), knownDifferences)).toEqual([]);
  });
});
