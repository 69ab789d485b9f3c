import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { createOutputBudget, type OutputBudget } from './output/output-budget.ts';
import { createProcessOutput } from './output/process-output.ts';
import { createProcessTable, type ProcessEntry, RETAIN_MS } from './process-table.ts';

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

  it('finds nothing without a selector, and says by which one it found nothing', () => {
    const table = createProcessTable();
    table.add(entry(1, 't'));
    for (const selector of [undefined, { case: undefined }])
      expect(() => table.find(selector)).toThrow(expect.objectContaining({ code: 'unimplemented' }));
    const missing = (message: string) => expect.objectContaining({ code: 'not_found', message });
    expect(() => table.find(byPid(2))).toThrow(missing('process with pid 2 not found'));
    expect(() => table.find(byTag('o'))).toThrow(missing('process with tag "o" not found'));
  });

  it('keeps of an ended process its output alone, and does not count it as running', () => {
    const table = createProcessTable();
    const [ended, live] = [entry(1), entry(2)];
    const { running } = live;
    for (const one of [ended, live]) table.add(one);
    table.markEnded(ended);
    expect(table.find(byPid(1))).toBe(ended);
    expect([ended.config, ended.running]).toEqual([undefined, undefined]);
    expect(() => table.findRunning(byPid(1))).toThrow(expect.objectContaining({ code: 'not_found' }));
    expect(table.findRunning(byPid(2))).toBe(running);
  });

  it('forgets an ended process by pid too, with the memory of its output, and no other of its tag', async () => {
    let usedBytes = 0;
    const counting: OutputBudget = {
      ...budget,
      change(deltaBytes) {
        usedBytes += deltaBytes;
        budget.change(deltaBytes);
      },
    };
    const output = createProcessOutput({ budget: counting, onHold: () => undefined });
    const table = createProcessTable({ retainMs: 20 });
    const [first, other, last] = [{ ...entry(1, 't'), output }, entry(2, 't'), entry(3, 't')];
    for (const one of [first, other, last]) table.add(one);
    output.write('stdout', new Uint8Array(2000));
    table.markEnded(first);
    table.markEnded(last);
    expect(usedBytes).toBeGreaterThanOrEqual(2000);
    await expect.poll(() => usedBytes).toBe(0);
    for (const pid of [1, 3]) expect(() => table.find(byPid(pid))).toThrow('not found');
    expect(table.find(byTag('t'))).toBe(other);
    table.markEnded(other);
    expect(table.find(byTag('t'))).toBe(other);
    await vi.waitFor(() => expect(() => table.find(byTag('t'))).toThrow('not found'), { timeout: 60_000 });
  });

  it('keeps them for half a minute, which clients have to come back', () => {
    expect(RETAIN_MS).toBe(30_000);
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
