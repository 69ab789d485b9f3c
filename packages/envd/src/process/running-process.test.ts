import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { createUsers } from '../system/users.ts';
import { createGate } from '../testing/gate.ts';
import type { ExitStatus } from './exit-status.ts';
import { createOutputBudget } from './output/output-budget.ts';
import { type OutputEvent, SlowReaderError, type Subscription } from './output/process-output.ts';
import { createRunningProcess } from './running-process.ts';
import { spawnProcess } from './spawn-process.ts';

const start = async (script: string, stallMs = 60_000) => {
  const spawned = await spawnProcess({
    cmd: '/bin/sh',
    args: ['-c', script],
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    user: createUsers().get('root'),
    stdin: true,
  });
  const ended = Promise.withResolvers<ExitStatus>();
  const options = { budget: createOutputBudget(), onEnd: ended.resolve, stallMs };
  const process = createRunningProcess(spawned, options);
  return { process, ended: ended.promise };
};

const readAll = async (reader: Subscription): Promise<{ bytes: number; last: OutputEvent | undefined }> => {
  let bytes = 0;
  let last: OutputEvent | undefined;
  for (let event = await reader.take(); event !== undefined; event = await reader.take()) {
    last = event;
    if (event.case !== 'end') bytes += event.value.length;
  }
  return { bytes, last };
};

const MEBIBYTE = 1024 * 1024;
const dir = mkdtempSync(join(tmpdir(), 'running-process-'));
afterAll(() => rmSync(dir, { recursive: true }));

describe('the readers of a process', () => {
  it('each get everything, and one that does not read is dropped while the others go on', async () => {
    const { process, ended } = await start(`head -c ${40 * MEBIBYTE} /dev/zero`);
    const stuck = process.output.subscribe();
    const reading = [readAll(process.output.subscribe()), readAll(process.output.subscribe())];
    for (const { bytes, last } of await Promise.all(reading)) {
      expect([bytes, last?.case]).toEqual([40 * MEBIBYTE, 'end']);
    }
    await expect(stuck.take()).rejects.toBeInstanceOf(SlowReaderError);
    expect((await ended).exitCode).toBe(0);
  });

  it('hold the process back when none of them reads, with little in memory, and lose nothing', async () => {
    const { process } = await start(`head -c ${20 * MEBIBYTE} /dev/zero`);
    const slow = process.output.subscribe();
    const writtenBytes = (): number => {
      const { offset, unsubscribe } = process.output.subscribe();
      unsubscribe();
      return offset;
    };
    await expect.poll(writtenBytes).toBeGreaterThanOrEqual(MEBIBYTE / 4);
    await delay(200);
    expect(writtenBytes()).toBeLessThan(MEBIBYTE);
    expect(await readAll(slow)).toMatchObject({ bytes: 20 * MEBIBYTE, last: { case: 'end' } });
  });

  it('are dropped when they hold the process back for too long, and it goes on', async () => {
    const { process, ended } = await start(`head -c ${20 * MEBIBYTE} /dev/zero; exit 5`, 100);
    const stuck = process.output.subscribe();
    expect((await ended).exitCode).toBe(5);
    await expect(stuck.take()).rejects.toThrow('too slow');
  });

  it('hold nothing back once they have gone', async () => {
    const { process, ended } = await start(`head -c ${20 * MEBIBYTE} /dev/zero; exit 6`);
    const { unsubscribe } = process.output.subscribe();
    await delay(200);
    unsubscribe();
    expect((await ended).exitCode).toBe(6);
  });
});

describe('writing to a process', () => {
  const { signal } = new AbortController();

  it('waits while the process does not read, and goes on when it does', async () => {
    const gate = createGate(dir);
    const { process } = await start(`${gate.wait}; wc -c`);
    const output = readAll(process.output.subscribe());
    let isWritten = false;
    const writing = process.write(Buffer.alloc(4 * MEBIBYTE), signal).then(() => {
      isWritten = true;
    });
    await delay(200);
    expect(isWritten).toBe(false);
    gate.open();
    await writing;
    process.closeStdin();
    expect((await output).last).toMatchObject({ case: 'end', value: { exitCode: 0 } });
  });

  it('stops waiting when the caller goes away', async () => {
    const { process } = await start('sleep 60');
    const abort = new AbortController();
    const writing = process.write(Buffer.alloc(4 * MEBIBYTE), abort.signal);
    abort.abort(new Error('gone'));
    await expect(writing).rejects.toThrow('gone');
    process.kill('SIGKILL');
  });

  it('fails when the process has closed its stdin', async () => {
    const { process } = await start('exec <&-; echo closed; sleep 60');
    await process.output.subscribe({ offset: 0 }).take();
    await expect(process.write(Buffer.from('x'), signal)).rejects.toMatchObject({ code: 'internal' });
    process.kill('SIGKILL');
  });
});

describe('the end of a process', () => {
  it('leaves a grandchild that holds the output able to write', async () => {
    const gate = createGate(dir);
    const path = join(dir, 'told');
    const { process, ended } = await start(
      `(echo there; ${gate.wait}; echo x; echo $? > ${path}) & exec sleep 60`,
    );
    await process.output.subscribe({ offset: 0 }).take();
    process.kill('SIGKILL');
    expect(await ended).toMatchObject({ exitCode: -1, status: 'signal: killed' });
    gate.open();
    await expect.poll(() => existsSync(path) && readFileSync(path, 'utf8')).toBe('0\n');
  });
});
