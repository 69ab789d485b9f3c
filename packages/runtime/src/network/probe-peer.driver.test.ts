import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runCommand } from '../kernel/run-command.ts';

it('exists once for each slot, and ends with the process that opened it, also when that is killed', async () => {
  const lab = fileURLToPath(new URL('./testing/probe-peer-lab.ts', import.meta.url));
  const args = ['--net', process.execPath, lab];
  const report = JSON.parse(await runCommand({ file: 'unshare', args, timeoutMs: 50_000 })) as object;
  expect(report).toEqual({
    answers: ['far', 'far'],
    links: expect.arrayContaining(['skprobe0', 'skprobe16383']),
    linksLeft: [],
  });
});
