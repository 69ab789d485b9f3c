import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createOomScore, type OomScoreFile } from './oom-score.ts';

/** A score with a lower bound, as the kernel keeps one (`oom_score_adj_min`); `bound` may be raised meanwhile. */
const createFile = (score: number): OomScoreFile & { score: number; bound: number } => ({
  score,
  bound: score,
  read() {
    return this.score;
  },
  write(next) {
    if (next < this.bound) throw Object.assign(new Error('write'), { code: 'EACCES' });
    this.score = next;
  },
});

describe('the score of what is spawned', () => {
  it.each([
    [0, 500],
    [300, 800],
    [900, 1000],
  ])('for an agent at %d is %d, and the agent goes back to its own', (own, raised) => {
    const file = createFile(own);
    const withOomScore = createOomScore(file);
    expect(withOomScore(() => file.score)).toBe(raised);
    expect(file.score).toBe(own);
  });

  it('is given back when the spawn throws', () => {
    const file = createFile(0);
    const fail = (): never => {
      throw new Error('no such program');
    };
    expect(() => createOomScore(file)(fail)).toThrow('no such program');
    expect(file.score).toBe(0);
  });

  it('is 500 for an agent that was restored with a higher lower bound than it had, which stays at 0', () => {
    const file = createFile(-500);
    const withOomScore = createOomScore(file);
    file.bound = 0;
    file.score = 0;
    expect([withOomScore(() => file.score), file.score]).toEqual([500, 0]);
    expect([withOomScore(() => file.score), file.score]).toEqual([500, 0]);
  });

  it('returns the child, each time, when the kernel refuses to put the agent back', () => {
    const file = createFile(0);
    const withOomScore = createOomScore(file);
    file.bound = 100;
    expect([withOomScore(() => file.score), file.score]).toEqual([500, 500]);
    expect([withOomScore(() => file.score), file.score]).toEqual([500, 500]);
    file.bound = 0;
    expect([withOomScore(() => file.score), file.score]).toEqual([500, 0]);
  });

  it.each(['EACCES', 'EINVAL', 'EIO'])('returns the child when every write fails with %s', (code) => {
    const write = (): never => {
      throw Object.assign(new Error('write'), { code });
    };
    expect(createOomScore({ read: () => 0, write })(() => 'child')).toBe('child');
  });

  it('runs the spawn where the kernel has no score', () => {
    expect(createOomScore(undefined)(() => 'child')).toBe('child');
  });
});

it('returns the child in a process whose score the kernel does not put back', async () => {
  const module = new URL('./oom-score.ts', import.meta.url).href;
  // A child's 0 is the kernel's -500, which no process without CAP_SYS_RESOURCE may take.
  const script = `
import { readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { createOomScore } from ${JSON.stringify(module)};
const path = '/proc/self/oom_score_adj';
const codes = [];
const withOomScore = createOomScore({
  read: () => Number(readFileSync(path, 'utf8')),
  write(score) {
    try {
      writeFileSync(path, String(score - 500));
    } catch (error) {
      codes.push(error.code);
      throw error;
    }
  },
});
const children = [1, 2].map(() => withOomScore(() => spawnSync('cat', [path]).stdout.toString()));
console.log(JSON.stringify({ codes, children }));`;
  const { stdout } = await promisify(execFile)('setpriv', [
    ...['--bounding-set=-sys_resource', '--inh-caps=-sys_resource'],
    ...[process.execPath, '--input-type=module-typescript', '-e', script],
  ]);
  expect(JSON.parse(stdout)).toEqual({ codes: ['EACCES', 'EACCES'], children: ['0\n', '0\n'] });
});
