import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runCommand } from '../../../kernel/run-command.ts';
import { useOci } from '../testing/oci-fixture.ts';

const fixture = useOci({ name: 'outside', memory: true });

it('ends a connection to the outside on both ends in a pause, in a copy on its own end, and in a snapshot on neither', async () => {
  const { base, agentDir, rootfs, criuDir = '' } = fixture;
  const lab = fileURLToPath(new URL('../testing/outside-lab.ts', import.meta.url));
  const args = ['--net', process.execPath, lab, `${base}/lab`, agentDir, rootfs, criuDir];
  const report: unknown = JSON.parse(await runCommand({ file: 'unshare', args, timeoutMs: 60_000 }));
  expect(report).toEqual({
    connected: ['accepted', 'got hello'],
    afterSnapshot: { inSource: '5', outside: ['got again'] },
    inCopy: "'ENOTCONN'",
    afterPause: ['end'],
    afterResume: "'ENOTCONN'",
  });
});
