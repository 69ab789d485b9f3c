import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startProgram } from './start-program.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/program-`);
});
afterEach(() => rmSync(folder, { recursive: true }));

const env = { PATH: '/usr/bin:/bin', NAME: 'a value' };
const start = (script: string, stdio: readonly (number | 'ignore')[] = ['ignore', 'ignore', 'ignore']) =>
  startProgram({ file: 'sh', args: ['-c', script], env, stdio });
/** What a program writes to its descriptor 1. */
const read = async (script: string): Promise<string> => {
  const out = openSync(`${folder}/out`, 'w');
  try {
    expect(await start(script, ['ignore', out, 'ignore']).ended).toBe(0);
  } finally {
    closeSync(out);
  }
  return readFileSync(`${folder}/out`, 'utf8');
};

describe('starting a program', () => {
  it('tells of each how it ended, also of many that end at the same time', async () => {
    const programs = Array.from({ length: 30 }, (_, index) => start(`exit ${index}`));
    expect(await Promise.all(programs.map(({ ended }) => ended))).toEqual(programs.map((_, index) => index));
    expect(await start('kill -TERM $$').ended).toBe('SIGTERM');
  });

  it('kills it, and nobody else when it has ended', async () => {
    const program = start('exec sleep 1000');
    program.kill();
    expect(await program.ended).toBe('SIGKILL');
    program.kill();
  });

  it('gives it the descriptors in their order, whatever numbers they have here, and no others', async () => {
    const texts = ['first', 'second', 'third', 'fourth'];
    const files = texts.map((text) => {
      writeFileSync(`${folder}/${text}`, text);
      return openSync(`${folder}/${text}`, 'r');
    });
    const [first = 0, ...others] = files.toReversed();
    const out = openSync(`${folder}/out`, 'w');
    const other = openSync(folder, 'r');
    // As many places as there are, so that one is another's number here.
    const between = Array.from({ length: Math.max(...files) - 5 }, () => 'ignore' as const);
    const stdio = [first, out, 'ignore' as const, ...others, ...between];
    const places = [0, 3, 4, 5].map((place) => `/proc/self/fd/${place}`).join(' ');
    try {
      const ended = start(`cat ${places}; echo; readlink /proc/$$/fd/2; exec ls /proc/self/fd`, stdio).ended;
      expect(await ended).toBe(0);
    } finally {
      for (const file of [...files, out, other]) closeSync(file);
    }
    const [contents, errors, ...open] = readFileSync(`${folder}/out`, 'utf8').trim().split('\n');
    expect([contents, errors]).toEqual(['fourththirdsecondfirst', '/dev/null']);
    for (const place of stdio.keys()) expect(open).toContain(String(place));
    expect(open).not.toContain(String(other));
  });

  it('lets it begin in the root folder, with those variables alone and no signal ignored or blocked', async () => {
    expect((await read('exec env -u PWD')).trim().split('\n').toSorted()).toEqual([
      `NAME=${env.NAME}`,
      `PATH=${env.PATH}`,
    ]);
    expect(await read('pwd')).toBe('/\n');
    const status = await read('exec cat /proc/self/status');
    expect(status).toMatch(/^SigBlk:\t0+$/m);
    expect(status).toMatch(/^SigIgn:\t0+$/m);
  });

  it('throws when there is no such program', () => {
    const missing = { args: [], env, stdio: [] };
    expect(() => startProgram({ file: `${folder}/none`, ...missing })).toThrow('ENOENT');
    expect(() => startProgram({ file: 'no-such-program', ...missing })).toThrow('ENOENT');
  });
});
