import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readRefusal } from './read-refusal.ts';

const folder = mkdtempSync(join(tmpdir(), 'refusal-'));
afterAll(() => rmSync(folder, { recursive: true }));

const log = join(folder, 'log');
const read = (...messages: string[]) => {
  writeFileSync(log, messages.map((msg) => `${JSON.stringify({ msg, level: 'error' })}\n`).join(''));
  return readRefusal(log);
};

const begin = 'checkpoint failed: checkpointing container "box"';
const stack =
  '\ngoroutine 7 [running]:\nsentry.(*dentry).StateSave(0xc0)\nstate.(*encodeState).encodeStruct(0xc0)';
const removed = `${begin}: encoding error: gofer.dentry("root/odd").beforeSave: deleted and invalidated dentries can't be restored:${stack}`;
const socket = `${begin}: encoding error: Cannot save endpoint with bound host socket:${stack}`;

describe('the log of a failed checkpoint', () => {
  it.each([
    ['a removed file', 'removed_file', [removed]],
    ['a removed file with a quotation mark', 'removed_file', [removed.replace('odd', 'o\\"d')]],
    [
      'a removed file whose name has words of the log',
      'removed_file',
      [removed.replace('odd', 'a: encoding error: b')],
    ],
    ['a socket that is a file', 'socket_file', [socket]],
    ['the last of two refusals', 'socket_file', [removed, socket]],
    ['another object', 'unknown', [`${begin}: encoding error: unsupported:${stack}`]],
  ])('names %s as %s', async (_, kind, messages) => {
    expect(await read(...messages)).toEqual({ kind });
  });

  it.each([
    ['its file exists', ['checkpoint failed: creating checkpoint state file "/x": file exists']],
    [
      'a write fails',
      [
        `${begin}: encoding error: write /x: input/output error:\ngoroutine 7 [running]:\nstate.(*encodeState).Save(0xc0)`,
      ],
    ],
    ['a later try fails by itself', [removed, 'checkpoint failed: opening "/x": permission denied']],
    ['nothing is written', []],
  ])('names nothing inside when %s', async (_, messages) => {
    expect(await read(...messages)).toBeUndefined();
  });

  it('names nothing inside when there is none, or its lines are no JSON', async () => {
    expect(await readRefusal(join(folder, 'missing'))).toBeUndefined();
    writeFileSync(log, 'killed\n');
    expect(await readRefusal(log)).toBeUndefined();
  });
});
