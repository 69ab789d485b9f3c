import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identifyProcess } from './process-identity.ts';
import { type ProgramDescriptor, REFUSED_BY_CGROUP, runProgramSync, startProgram } from './start-program.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/program-`);
});
afterEach(() => rmSync(folder, { recursive: true }));

const env = { PATH: '/usr/bin:/bin', NAME: 'a value' };
const start = (script: string, stdio: readonly ProgramDescriptor[] = ['ignore', 'ignore', 'ignore']) =>
  startProgram({ file: 'sh', args: ['-c', script], env, stdio });
/** Returns what a program writes to its descriptor 1. */
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
  it('reports how each program ended, also when many end at the same time', async () => {
    const programs = Array.from({ length: 30 }, (_, index) => start(`exit ${index}`));
    expect(await Promise.all(programs.map(({ ended }) => ended))).toEqual(programs.map((_, index) => index));
    expect(await start('kill -TERM $$').ended).toBe('SIGTERM');
  });

  it('kills it, and no other process once it has ended', async () => {
    const program = start('exec sleep 1000');
    program.kill();
    expect(await program.ended).toBe('SIGKILL');
    program.kill();
  });

  it('passes on the descriptors in their order, whatever numbers they have here, and no others', async () => {
    const texts = ['first', 'second', 'third', 'fourth'];
    const files = texts.map((text) => {
      writeFileSync(`${folder}/${text}`, text);
      return openSync(`${folder}/${text}`, 'r');
    });
    const [first = 0, ...others] = files.toReversed();
    const out = openSync(`${folder}/out`, 'w');
    const other = openSync(folder, 'r');
    // So many places that the number of one descriptor here is the target of another.
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

  it('starts it in the root folder, with those variables alone and no signal ignored or blocked', async () => {
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

  it('connects pipes in both directions', async () => {
    const { pipes, ended } = start('tr a-z A-Z; cat <&3', ['input', 'output', 'ignore', 'input']);
    const [input, output, none, other] = pipes;
    expect(none).toBeUndefined();
    input?.end('small ');
    other?.end('and more');
    expect(await text(output as Socket)).toBe('SMALL and more');
    expect(await ended).toBe(0);
  });

  it('closes its pipes when it has ended, also one that is not read', async () => {
    const { pipes, ended } = start('echo unread', ['input', 'output', 'output']);
    await ended;
    await expect.poll(() => pipes.map((pipe) => pipe?.destroyed)).toEqual([true, true, true]);
  });

  it('is killed when the signal aborts, with its process group where it leads one', async () => {
    const abort = new AbortController();
    const args = ['-c', 'sleep 1000 & echo $!; wait'];
    const { signal } = abort;
    const stdio = ['ignore', 'output'] as const;
    const { pipes, ended } = startProgram({ file: 'sh', args, stdio, ownSession: true, signal });
    const [said] = (await once(pipes[1] as Socket, 'data')) as [Buffer];
    abort.abort(new Error('enough'));
    expect(await ended).toBe('SIGKILL');
    await expect.poll(() => identifyProcess(Number(said))).toBeUndefined();
    expect(() => startProgram({ file: 'sh', args, stdio, signal })).toThrow('enough');
  });

  it('writes it into the files of cgroups before it begins, and reports one that refuses it', async () => {
    const files = ['first', 'second'].map((name) => `${folder}/${name}`);
    const options = { file: 'sh', args: ['-c', `echo $$ > ${folder}/pid`], stdio: [] };
    const { pid, ended } = startProgram({ ...options, memberFiles: files });
    expect(await ended).toBe(0);
    for (const path of [...files, `${folder}/pid`]) expect(readFileSync(path, 'utf8')).toBe(`${pid}\n`);
    const refused = startProgram({ ...options, memberFiles: [`${folder}/none/file`] });
    expect(await refused.ended).toBe(REFUSED_BY_CGROUP);
  });

  it('does not keep this process alive after unref', async () => {
    const module = JSON.stringify(new URL('./start-program.ts', import.meta.url).href);
    const script = `const { startProgram } = await import(${module});
      const program = startProgram({ file: 'sleep', args: ['20'], stdio: [] });
      console.log(program.pid);
      program.unref();`;
    const begin = performance.now();
    const args = ['--input-type=module-typescript', '-e', script];
    const { ended, pipes } = startProgram({
      file: process.execPath,
      args,
      stdio: ['ignore', 'output', 'ignore'],
    });
    const [said] = (await once(pipes[1] as Socket, 'data')) as [Buffer];
    expect(await ended).toBe(0);
    process.kill(Number(said), 'SIGKILL');
    expect(performance.now() - begin).toBeLessThan(15_000);
  });
});

describe('running a program while this thread waits', () => {
  it('returns how it ended, and kills it with its process group at the deadline', async () => {
    const run = (script: string) =>
      runProgramSync({ file: 'sh', args: ['-c', script], stdio: [], timeoutMs: 200 });
    expect(run('exit 7')).toEqual({ end: 7, isLate: false });
    expect(run('kill -9 $$')).toEqual({ end: 'SIGKILL', isLate: false });
    expect(run(`sleep 1000 & echo $! > ${folder}/pid; wait`)).toEqual({ end: 'SIGKILL', isLate: true });
    const inside = Number(readFileSync(`${folder}/pid`, 'utf8'));
    await expect.poll(() => identifyProcess(inside)).toBeUndefined();
  });
});
