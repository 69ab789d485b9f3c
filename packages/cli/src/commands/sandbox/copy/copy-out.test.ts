import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { EntryType, Sandbox } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { create } from 'tar';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { copyOut } from './copy-out.ts';

let here: string;
let destination: string;
beforeEach(() => {
  here = mkdtempSync(join(tmpdir(), 'skerry-copy-out-'));
  onTestFinished(() => rmSync(here, { recursive: true }));
  destination = join(here, 'out');
  mkdirSync(destination);
});

/** An archive of a folder with one file. */
const pack = (): Readable => {
  const folder = join(here, 'inside');
  mkdirSync(folder);
  writeFileSync(join(folder, 'name'), 'text');
  return Readable.from(create({ cwd: folder }, ['.']));
};

/** A sandbox that calls the source each of these in turn, and sends these bytes. */
function pretend(types: readonly EntryType[], bytes: Readable): Sandbox {
  const left = [...types];
  const files = {
    getInfo: async (path: string) => ({
      type: path === 'source' ? left.shift() : 'file',
      ...{ mode: 0o644, path: '/home/user/source', sizeBytes: 4 },
    }),
    read: async () => Readable.toWeb(bytes),
    remove: async () => {},
  };
  return { files, commands: { run: async () => {} } } as unknown as Sandbox;
}

const copy = (sandbox: Sandbox): Promise<void> =>
  copyOut(sandbox, 'source', destination, {
    user: undefined,
    signal: new AbortController().signal,
    transfer: { expect: () => {}, add: () => {} } as never,
    maxBytes: undefined,
    onLeftOut: () => {},
  });

describe('a copy out of a sandbox', () => {
  it('writes a file that is still a file at the end', async () => {
    await copy(pretend(['file', 'file'], Readable.from(['text'])));
    expect(readFileSync(join(destination, 'source'), 'utf8')).toBe('text');
  });

  it('writes a folder that is still a folder at the end', async () => {
    await copy(pretend(['directory', 'directory'], pack()));
    expect(readFileSync(join(destination, 'source', 'name'), 'utf8')).toBe('text');
  });

  it.each<{ first: EntryType; last: EntryType; send: () => Readable }>([
    { first: 'file', last: 'directory', send: () => Readable.from(['text']) },
    { first: 'file', last: 'symlink', send: () => Readable.from(['text']) },
    { first: 'directory', last: 'file', send: pack },
  ])(
    'refuses a $first that is a $last at the end, and leaves what is there',
    async ({ first, last, send }) => {
      mkdirSync(join(destination, 'kept'));
      const refused = copy(pretend([first, last], send()));
      await expect(refused).rejects.toThrow(
        new UserError(`source was a ${first} and is now a ${last}: it was not copied`),
      );
      expect(readdirSync(destination)).toEqual(['kept']);
    },
  );
});
