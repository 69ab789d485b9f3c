import { expect, it, onTestFinished } from 'vitest';
import { toLine, tryLevels } from './try-levels.ts';

const results = (...probes: { name: string; ok: boolean; found: string }[]): string => JSON.stringify(probes);

it('says that a level works when one of its probes succeeds, and how a server gets it', () => {
  const output = results(
    { name: 'crun', ok: false, found: 'no crun' },
    { name: 'runc', ok: true, found: 'runc starts a sandbox' },
    { name: 'gvisor', ok: false, found: 'no KVM' },
  );
  expect(toLine('container', output, 'skerry')).toBe(
    'level container works here: skerry up --isolation container',
  );
  expect(toLine('gvisor', output, 'skerry')).toBe('level gvisor does not start here: no KVM');
});

it('says that nothing was tried when the doctor cannot be started', async () => {
  const program = process.execPath;
  onTestFinished(() => {
    process.execPath = program;
  });
  process.execPath = '/nonexistent/node';
  const options = { dataDir: '/nonexistent', programsDir: '/nonexistent', command: 'skerry' };
  expect(await tryLevels(['gvisor'], { ...options, signal: new AbortController().signal })).toEqual([
    'level gvisor could not be tried: see "skerry doctor"',
  ]);
});

it.each(['', '[]', results({ name: 'tini', ok: true, found: 'tini' })])(
  'names the command that tries it when the results lack it: %s',
  (output) => {
    expect(toLine('gvisor', output, 'npx skerry')).toBe(
      'level gvisor could not be tried: see "npx skerry doctor"',
    );
  },
);
