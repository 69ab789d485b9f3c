import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTemporaryFolder } from '../../testing/temporary-folder.ts';
import { UserError } from '../../user-error.ts';
import { appendToFile, createAccessSink, openAccessSink } from './access-sink.ts';

const entry = { time: 'now', dropped: 0 };
const line = `${JSON.stringify(entry)}\n`;
const noLog = { warn: () => {} };

it('drops entries while the reader is too slow, and writes how many when it reads again', async () => {
  const { promise: read, resolve: readAgain } = Promise.withResolvers<void>();
  const written: string[] = [];
  const warnings: unknown[] = [];
  const sink = createAccessSink(
    async (text) => {
      written.push(text);
      await read;
    },
    { warn: (message, fields) => void warnings.push([message, fields]) },
    { maxWaitingBytes: line.length * 10 },
  );
  for (let count = 0; count < 100_000; count += 1) sink.write(entry);
  expect(written).toEqual([line]);
  expect(warnings).toEqual([['the access log is written too slowly: lines are dropped', { dropped: 1 }]]);
  readAgain();
  await sink.close();
  const [note, ...rest] = written[1]?.trim().split('\n') ?? [];
  expect(JSON.parse(note ?? '')).toEqual({ time: expect.any(String), dropped: 99_989 });
  expect(rest).toHaveLength(10);
  sink.write(entry);
  await sink.close();
  expect(written[2]).toBe(line);
});

it('counts the lines that could not be written, and goes on when they can', async () => {
  let isFull = true;
  let text = '';
  const sink = createAccessSink(async (more) => {
    if (isFull) throw new Error('no space left');
    text += more;
  }, noLog);
  sink.write(entry);
  await sink.close();
  isFull = false;
  sink.write(entry);
  await sink.close();
  expect(text.split('\n').map((each) => each && JSON.parse(each).dropped)).toEqual([1, 0, '']);
});

it('renames a full file, keeps four of those, and begins anew when the file is moved away', async () => {
  const path = join(createTemporaryFolder(), 'access.log');
  const append = appendToFile(path, 4);
  for (const text of ['1111', '2222', '3333', '4444', '5555', '6666']) await append(text);
  expect(['', '.1', '.4'].map((end) => readFileSync(path + end, 'utf8'))).toEqual(['6666', '5555', '2222']);
  expect(existsSync(`${path}.5`)).toBe(false);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  renameSync(path, `${path}.moved`);
  await append('7777');
  expect(readFileSync(path, 'utf8')).toBe('7777');
  expect(readFileSync(`${path}.1`, 'utf8')).toBe('5555');
});

it('refuses a file that cannot be written, by the name of its option', () => {
  const open = () => openAccessSink(join(createTemporaryFolder(), 'missing', 'access.log'), noLog);
  expect(open).toThrow(UserError);
  expect(open).toThrow(/--access-log: .*missing.*ENOENT/);
});
