import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createOutputBudget } from './output/output-budget.ts';
import { createProcessOutput } from './output/process-output.ts';
import { createProcessTable, type ProcessEntry } from './process-table.ts';

const budget = createOutputBudget();
const entry = (pid: number, tag?: string): ProcessEntry => ({
  pid,
  tag,
  config: { cmd: 'x', args: [], envs: {} },
  output: createProcessOutput({ budget, onHold: () => undefined }),
  running: {} as NonNullable<ProcessEntry['running']>,
});
const byPid = (value: number) => ({ case: 'pid' as const, value });
const byTag = (value: string) => ({ case: 'tag' as const, value });

describe('a process table', () => {
  it('finds by tag the most recently started, live or ended', () => {
    const table = createProcessTable();
    const [first, second, other] = [entry(1, 't'), entry(2, 't'), entry(3, 'o')];
    for (const one of [first, second, other]) table.add(one);
    expect(table.find(byTag('t'))).toBe(second);
    table.markEnded(second);
    expect(table.find(byTag('t'))).toBe(second);
    expect(() => table.findRunning(byTag('t'))).toThrow('has ended');
    expect(table.live()).toEqual([first, other]);
  });

  it('forgets an ended process after a while, but not a new one with its pid', async () => {
    const table = createProcessTable({ retainMs: 20 });
    const [old, young] = [entry(7, 't'), entry(7)];
    table.add(old);
    table.markEnded(old);
    table.add(young);
    expect(table.find(byPid(7))).toBe(young);
    await delay(50);
    expect(table.find(byPid(7))).toBe(young);
    expect(() => table.find(byTag('t'))).toThrow('not found');
  });

  it('keeps at most 4096 ended processes', () => {
    const table = createProcessTable();
    for (let pid = 1; pid <= 5000; pid += 1) {
      const one = entry(pid);
      table.add(one);
      table.markEnded(one);
    }
    expect(() => table.find(byPid(904))).toThrow('not found');
    expect(table.find(byPid(905)).pid).toBe(905);
  });
});
