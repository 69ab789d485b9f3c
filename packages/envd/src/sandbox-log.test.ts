import { describe, expect, it } from 'vitest';
import { createSandboxLog } from './sandbox-log.ts';

const event = (message: string) => ({ level: 'info', logger: 'test', message }) as const;

describe('the log of the sandbox', () => {
  it('numbers its lines and gives those after one', () => {
    const log = createSandboxLog();
    for (const message of ['a', 'b', 'c']) log.write(event(message));
    expect(log.after(1).map(({ seq }) => seq)).toEqual([2, 3]);
    expect(JSON.parse(log.after(2)[0]?.text ?? '')).toEqual({
      ...event('c'),
      seq: 3,
      timestamp: expect.any(Number),
      fields: {},
    });
    expect(log.after(3)).toEqual([]);
  });

  it.each([
    ['many', 5_000, 'x'],
    ['long', 500, 'x'.repeat(5_000)],
  ])('keeps the last of %s lines, in bounded memory', (_what, count, message) => {
    const log = createSandboxLog();
    for (let index = 0; index < count; index += 1) {
      log.write(event(message));
      const kept = log.after(0);
      expect(kept.length).toBeLessThanOrEqual(1_000);
      expect(kept.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(256 * 1024);
      expect(kept.at(-1)?.seq).toBe(index + 1);
    }
    expect(log.after(0).length).toBeGreaterThan(20);
  });

  it('begins a new numbering when it becomes that of another sandbox', () => {
    const log = createSandboxLog();
    log.write(event('of the first'));
    const { origin } = log;
    log.restart();
    expect(log.origin).not.toBe(origin);
    expect(log.after(0)).toEqual([]);
    log.write(event('of the second'));
    expect(log.after(0)[0]?.seq).toBe(1);
  });

  it('calls only its last listener', () => {
    const log = createSandboxLog();
    const calls: string[] = [];
    const forgetFirst = log.onWrite(() => calls.push('first'));
    const forgetSecond = log.onWrite(() => calls.push('second'));
    forgetFirst();
    log.write(event('a'));
    forgetSecond();
    log.write(event('b'));
    expect(calls).toEqual(['second']);
  });
});
