import { describe, expect, it } from 'vitest';
import type { SandboxRow } from '../store/rows.ts';
import { toMissingError } from './visible-state.ts';

const now = Date.UTC(2026, 0, 1);
const explain = (row: Partial<SandboxRow>): string =>
  toMissingError('i1', { state: 'ended', cause: 'expired', ...row } as SandboxRow, { now: () => now })
    .message;
const ended = (cause: SandboxRow['cause'], agoMs = 3_000) => ({ cause, endedAt: now - agoMs });

describe('the error for a sandbox that cannot be used', () => {
  it.each([
    [
      { ...ended('expired'), startedAt: 0, endAt: 15_000 },
      'ended 3 s ago: its time to live of 15 s was over',
    ],
    [
      { ...ended('expired', 7_300_000), startedAt: 0, endAt: 5_400_000 },
      'ended 2 h ago: its time to live of 90 min was over',
    ],
    [ended('killed', 119_000), 'was killed 119 s ago'],
    [ended('exited', 200_000_000), 'ended by itself 2 d ago'],
    [ended('lost'), 'was lost 3 s ago: its host no longer had it'],
    [{ state: 'killing' as const, cause: 'killed' as const, endedAt: null }, 'was killed just now'],
    [{ state: 'paused' as const }, 'is paused: connect resumes it'],
    [ended('failed'), 'was not found'],
    [{ state: 'starting' as const }, 'was not found'],
  ])('%j: %s', (row, text) => {
    expect(explain(row)).toBe(`sandbox "i1" ${text}`);
  });

  it('is that it was not found when there is no record of it', () => {
    expect(toMissingError('i1', undefined, { now: () => now })).toMatchObject({
      code: 'not_found',
      message: 'sandbox "i1" was not found',
    });
  });
});
