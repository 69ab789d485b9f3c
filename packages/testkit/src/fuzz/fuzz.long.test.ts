import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type Arena, createArena } from './arena.ts';
import { describeFailure, fuzz, TARGET_NAMES } from './fuzz-run.ts';

let stack: Stack;
let arena: Arena;
beforeAll(async () => {
  stack = await startStack();
  arena = await createArena(stack);
});
afterAll(() => stack.down());

describe('agent, edge and platform answer broken input with documented errors and go on, for', () => {
  it.each(TARGET_NAMES)('%s', async (target) => {
    const report = await fuzz({ arena, target, seed: 20_261_120, runs: 300, maxMs: 2500, leastRuns: 21 });
    expect(describeFailure(report)).toBe('');
    // Some input gets far enough to be worked on, some does not.
    expect(Object.keys(report.statuses).length).toBeGreaterThan(1);
    expect(report.runs).toBeGreaterThan(20);
  });
});
