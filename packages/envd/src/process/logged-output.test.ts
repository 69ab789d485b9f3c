// What processes print, in the log of a real agent.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ sandboxId: 'i1' });
});
afterAll(() => agent.stop());

interface Line {
  logger?: string;
  message?: string;
  fields?: Record<string, string>;
}

/** The lines that programs have printed, as the host reads them. */
const readPrinted = async (): Promise<string[]> => {
  const { body } = await agent.http({ path: '/logs', socket: 'control.sock' });
  const lines = body
    .toString()
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as Line);
  return lines
    .filter(({ logger }) => logger === 'stdout' || logger === 'stderr')
    .map(({ logger, message }) => `${logger}: ${message}`);
};

const sh = (script: string) => ({ process: { cmd: 'sh', args: ['-c', script] } });

it('logs the output of a command that asks for it, and of none that a caller reads', async () => {
  await collectOutput(agent.processes().start(sh('echo read; echo wrong >&2')));
  expect(await readPrinted()).toEqual([]);
  const { stdout } = await collectOutput(
    agent
      .processes()
      .start({ ...sh('echo logged; sleep 0.1; echo wrong >&2; printf last'), skerryLogOutput: true }),
  );
  expect(stdout).toBe('logged\nlast');
  expect(await readPrinted()).toEqual(['stdout: logged', 'stderr: wrong', 'stdout: last']);
});

it('logs output from when the last caller has gone', async () => {
  const leaving = new AbortController();
  const started = agent.processes().start(sh('echo first; sleep 1; echo second'), { signal: leaving.signal });
  for await (const { event } of started) if (event?.event.case === 'data') break;
  leaving.abort();
  await expect.poll(readPrinted).toContain('stdout: second');
  expect(await readPrinted()).not.toContain('stdout: first');
});
