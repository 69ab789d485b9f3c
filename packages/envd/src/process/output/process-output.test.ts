import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createOutputBudget, type OutputBudget } from './output-budget.ts';
import {
  createProcessOutput,
  LostOutputError,
  type ProcessOutput,
  SlowReaderError,
  type Subscription,
} from './process-output.ts';

const MEBIBYTE = 1024 * 1024;
const END = { exitCode: 0, exited: true, status: 'exit status 0' };

const create = ({ budget = createOutputBudget(), stallMs = 60_000 }: Partial<Setup> = {}) => {
  const held: boolean[] = [];
  const output = createProcessOutput({ budget, stallMs, onHold: (isHeldBack) => held.push(isHeldBack) });
  return { output, held };
};
interface Setup {
  budget: OutputBudget;
  stallMs: number;
}

/** Reads until nothing more is there, and tells whether the end was. */
const drain = async (reader: Subscription): Promise<{ text: string; isEnded: boolean }> => {
  let text = '';
  for (;;) {
    const event = await Promise.race([reader.take(), delay(20, 'nothing' as const)]);
    if (event === 'nothing' || event === undefined) return { text, isEnded: event === undefined };
    if (event.case !== 'end') text += Buffer.from(event.value).toString('latin1');
  }
};
/** In pieces as large as a pipe gives at once. */
const writeMebibytes = (output: ProcessOutput, count: number): void => {
  for (let at = 0; at < count * 16; at += 1) output.write('stdout', Buffer.alloc(64 * 1024, 'x'));
};

describe('reading from an offset', () => {
  it('replays what was missed, then follows, then ends', async () => {
    const { output } = create();
    output.write('stdout', Buffer.from('one two '));
    const reader = output.subscribe({ offset: 4 });
    expect([reader.offset, (await reader.take())?.value]).toEqual([4, new Uint8Array(Buffer.from('two '))]);
    const next = reader.take();
    output.write('stderr', Buffer.from('three'));
    expect(await next).toEqual({ case: 'stderr', value: new Uint8Array(Buffer.from('three')), position: 0 });
    output.end(END);
    expect([await reader.take(), await reader.take()]).toEqual([{ case: 'end', value: END }, undefined]);
  });

  it('resumes each kind behind what the reader has, and says where each piece stands in its kind', async () => {
    const { output } = create();
    output.write('stdout', Buffer.from('out1'));
    output.write('stderr', Buffer.from('err1'));
    output.write('stdout', Buffer.from('out2'));
    output.write('stderr', Buffer.from('err2'));
    const whole = output.subscribe({ resumeFrom: { stdout: 2, stderr: 8, pty: 0 } });
    expect(whole.positions).toEqual({ stdout: 2, stderr: 8, pty: 0 });
    output.write('stderr', Buffer.from('err3'));
    output.end(END);
    const seen: unknown[] = [];
    for (let event = await whole.take(); event?.case !== 'end'; event = await whole.take())
      seen.push(event && [event.case, Buffer.from(event.value).toString(), event.position]);
    expect(seen).toEqual([
      ['stdout', 't1', 2],
      ['stdout', 'out2', 4],
      ['stderr', 'err3', 8],
    ]);
    const mixed = output.subscribe({ resumeFrom: { stdout: 6, stderr: 2, pty: 0 } });
    expect((await drain(mixed)).text).toBe('r1t2err2err3');
    expect(output.subscribe({ offset: 6 }).positions).toEqual({ stdout: 4, stderr: 2, pty: 0 });
    expect(output.subscribe().positions).toEqual({ stdout: 8, stderr: 12, pty: 0 });
  });

  it('refuses to resume where output is no longer kept, and behind what was written', () => {
    const { output } = create();
    output.write('stderr', Buffer.from('early'));
    writeMebibytes(output, 4);
    const stdout = 4 * MEBIBYTE;
    expect(() => output.subscribe({ resumeFrom: { stdout, stderr: 4, pty: 0 } })).toThrow(LostOutputError);
    expect(() => output.subscribe({ resumeFrom: { stdout: 1, stderr: 5, pty: 0 } })).toThrow(LostOutputError);
    expect(() => output.subscribe({ resumeFrom: { stdout, stderr: 6, pty: 0 } })).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    );
    expect(output.subscribe({ resumeFrom: { stdout, stderr: 5, pty: 0 } }).offset).toBe(stdout + 5);
  });

  it('begins at the end without an offset, and with one behind it', async () => {
    const { output } = create();
    output.write('stdout', Buffer.from('old'));
    const readers = [output.subscribe(), output.subscribe({ offset: 2 ** 64 })];
    output.write('stdout', Buffer.from('new'));
    for (const reader of readers) {
      expect([reader.offset, (await drain(reader)).text]).toEqual([3, 'new']);
    }
  });

  it('says where it begins when what was asked for is gone, also after the end', async () => {
    const { output, held } = create();
    writeMebibytes(output, 20);
    output.end(END);
    const reader = output.subscribe({ offset: 5 });
    expect(reader.offset).toBeGreaterThanOrEqual(18 * MEBIBYTE);
    expect(reader.offset).toBeLessThan(18.2 * MEBIBYTE);
    const { text, isEnded } = await drain(reader);
    expect([text.length + reader.offset, isEnded]).toEqual([20 * MEBIBYTE, true]);
    expect(held).toEqual([]);
  });
});

describe('the beginning of a character', () => {
  const [lead, ...rest] = Buffer.from('€');
  const text = async (reader: Subscription): Promise<string | undefined> => {
    const event = await reader.take();
    return event?.case === 'end' ? 'end' : event && Buffer.from(event.value).toString('latin1');
  };
  const begin = (kind: 'stdout' | 'pty') => {
    const { output } = create();
    const reader = output.subscribe();
    output.write(kind, Buffer.from([0x61, lead as number]));
    return { output, reader };
  };

  it('waits for its rest', async () => {
    const { output, reader } = begin('stdout');
    expect(await text(reader)).toBe('a');
    const next = text(reader);
    await delay(5);
    output.write('stdout', Buffer.from([...rest, 0x62]));
    expect(await next).toBe(Buffer.from('€b').toString('latin1'));
  });

  it('comes alone when there is none soon, and the rest when it is there', async () => {
    const { output, reader } = begin('stdout');
    expect(await text(reader)).toBe('a');
    const begunMs = performance.now();
    expect(await text(reader)).toBe('\xe2');
    expect(performance.now() - begunMs).toBeGreaterThan(20);
    output.write('stdout', Buffer.from(rest));
    expect(await text(reader)).toBe('\x82\xac');
  });

  it('does not wait at the end, for output of another kind, or of a terminal', async () => {
    const ended = begin('stdout');
    ended.output.end(END);
    expect([await text(ended.reader), await text(ended.reader), await text(ended.reader)]).toEqual([
      'a',
      '\xe2',
      'end',
    ]);
    const mixed = begin('stdout');
    mixed.output.write('stderr', Buffer.from('!'));
    expect([await text(mixed.reader), await text(mixed.reader)]).toEqual(['a\xe2', '!']);
    expect(await text(begin('pty').reader)).toBe('a\xe2');
  });
});

describe('a piece that was taken', () => {
  it.each(['stays', 'leaves'])(
    'keeps its bytes while its reader %s and what it was written to is used again',
    async (way) => {
      const { output } = create();
      const reader = output.subscribe();
      output.write('stdout', Buffer.alloc(64 * 1024, 'a'));
      const piece = await reader.take();
      if (way === 'leaves') reader.unsubscribe();
      writeMebibytes(output, 12);
      const other = create();
      writeMebibytes(other.output, 12);
      expect(Buffer.from(piece?.value as Uint8Array).equals(Buffer.alloc(32 * 1024, 'a'))).toBe(true);
    },
  );
});

describe('a reader that has gone', () => {
  it('holds the process back for as long as it asked, when it writes much', async () => {
    const { output, held } = create();
    output.subscribe({ holdMs: 50 }).unsubscribe();
    writeMebibytes(output, 1);
    expect(held).toEqual([true]);
    await delay(80);
    expect(held).toEqual([true, false]);
  });

  it('finds everything when it comes back, and holds nothing back after that', async () => {
    const { output, held } = create();
    output.subscribe({ holdMs: 5_000 }).unsubscribe();
    writeMebibytes(output, 1);
    const back = output.subscribe({ offset: 0, holdMs: 5_000 });
    expect((await drain(back)).text.length).toBe(MEBIBYTE);
    expect(held).toEqual([true, false]);
    output.end(END);
    back.unsubscribe();
    expect(held).toEqual([true, false]);
  });

  it('reads again, when it comes back, the output that it had taken before its connection broke', async () => {
    const { output } = create();
    const reader = output.subscribe({ holdMs: 5_000 });
    for (let at = 0; at < 6; at += 1) {
      writeMebibytes(output, 1);
      await drain(reader);
    }
    reader.unsubscribe();
    const back = output.subscribe({ offset: 0 });
    expect([back.offset, (await drain(back)).text.length]).toEqual([0, 6 * MEBIBYTE]);
  });

  it('is not waited for when it did not ask', () => {
    const { output, held } = create();
    output.subscribe().unsubscribe();
    writeMebibytes(output, 12);
    expect(held).toEqual([]);
  });
});

describe('a reader among others that read on', () => {
  /** Writes while the process is not held back, with a reader that takes everything at once. */
  const writeTo = async (rounds: number, { output, held }: ReturnType<typeof create>, fast: Subscription) => {
    for (let at = 0; at < rounds && held.at(-1) !== true; at += 1) {
      writeMebibytes(output, 1 / 8);
      await drain(fast);
    }
  };

  it('is waited for when it falls behind, and goes on when it catches up, as often as it does', async () => {
    const all = create();
    const [fast, slow] = [all.output.subscribe(), all.output.subscribe()];
    let text = '';
    for (let times = 0; times < 3; times += 1) {
      await writeTo(20, all, fast);
      expect(all.held.at(-1)).toBe(true);
      text += (await drain(slow)).text;
      expect(all.held.at(-1)).toBe(false);
    }
    expect(text.length).toBeGreaterThan(4 * MEBIBYTE);
  });

  it('is waited for once when it does not, and then dropped', async () => {
    const all = create();
    const [fast, stuck] = [all.output.subscribe(), all.output.subscribe()];
    await writeTo(20, all, fast);
    expect(all.held).toEqual([true]);
    await delay(700);
    await writeTo(20, all, fast);
    expect(all.held).toEqual([true, false]);
    await expect(stuck.take()).rejects.toBeInstanceOf(SlowReaderError);
  });
});

describe('the budget over all processes', () => {
  const budgetOf = (megabytesInAll: number) => createOutputBudget({ maxBytes: megabytesInAll * MEBIBYTE });
  const costs = (budget: OutputBudget) => {
    let usedBytes = 0;
    const counted: OutputBudget = {
      get isTight() {
        return budget.isTight;
      },
      addLive: budget.addLive,
      markEnded: budget.markEnded,
      remove: budget.remove,
      change(deltaBytes) {
        usedBytes += deltaBytes;
        budget.change(deltaBytes);
      },
    };
    return { budget: counted, usedBytes: () => usedBytes };
  };

  it('takes from ended processes first, the oldest before the others', () => {
    const budget = budgetOf(4);
    const outputs = [1, 2, 3].map(() => create({ budget }).output);
    for (const output of outputs) writeMebibytes(output, 1);
    for (const output of outputs.slice(0, 2)) output.end(END);
    writeMebibytes(create({ budget }).output, 2);
    const starts = outputs.map((output) => output.subscribe({ offset: 0 }).offset);
    expect(starts).toEqual([MEBIBYTE, MEBIBYTE, 0]);
  });

  it('never takes what a reader of a live process waits for, and makes all processes wait earlier instead', async () => {
    const { budget, usedBytes } = costs(budgetOf(1));
    const all = Array.from({ length: 8 }, () => create({ budget }));
    const readers = all.map(({ output }) => output.subscribe());
    for (let round = 0; round < 64; round += 1) {
      for (const { output, held } of all) {
        if (held.at(-1) !== true) output.write('stdout', Buffer.alloc(64 * 1024, 'x'));
      }
    }
    expect(all.every(({ held }) => held.at(-1) === true)).toBe(true);
    expect(usedBytes()).toBeLessThan(1.7 * MEBIBYTE);
    for (const reader of readers) expect((await drain(reader)).text.length).toBeGreaterThan(0);
  });

  it('drops readers of ended processes when nothing else is left, and counts nothing for what is forgotten', async () => {
    const { budget, usedBytes } = costs(budgetOf(1));
    const { output } = create({ budget });
    const stuck = output.subscribe();
    writeMebibytes(output, 1);
    output.end(END);
    output.forget();
    expect(usedBytes()).toBeGreaterThan(MEBIBYTE / 2);
    const other = create({ budget });
    writeMebibytes(other.output, 1);
    await expect(stuck.take()).rejects.toBeInstanceOf(SlowReaderError);
    other.output.end(END);
    other.output.forget();
    expect(usedBytes()).toBe(0);
  });
});
