import { Process } from '@skerry/envd-client/process';
import { expect, it } from 'vitest';
import { serveAgent } from '../testing/serve-agent.ts';
import { Commands } from './commands.ts';
import type { LostOutput } from './output-lost-error.ts';

const text = 'abcdefghijklmnopqrstuvwxyz';
const toEvent = <T>(event: T) => ({ event: { event } });
const stdout = (value: string) =>
  toEvent({
    case: 'data' as const,
    value: { output: { case: 'stdout' as const, value: Buffer.from(value) } },
  });

/** A server that writes the alphabet over connections that break after `bytes` each, and keeps only what begins at `keptFrom`. */
const serve = async (connections: { bytes: number; keptFrom: number }[]) => {
  const asked: (bigint | undefined)[] = [];
  const left = [...connections];
  const served = await serveAgent(
    (router) => {
      async function* write(offset: number) {
        const { bytes = Number.POSITIVE_INFINITY, keptFrom = 0 } = left.shift() ?? {};
        const from = Math.max(offset, keptFrom);
        yield toEvent({ case: 'start' as const, value: { pid: 7, skerryOffset: BigInt(from) } });
        for (const letter of text.slice(from, from + bytes)) yield stdout(letter);
        if (from + bytes >= text.length) {
          yield toEvent({ case: 'end' as const, value: { exitCode: 0, exited: true } });
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
        served.seen.at(-1)?.socket.destroy();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      router.service(Process, {
        start: () => write(0),
        connect: ({ skerryOffset }) => {
          asked.push(skerryOffset);
          return write(Number(skerryOffset));
        },
      });
    },
    (_request, response) => void response.writeHead(204).end(),
  );
  return { commands: new Commands(served.agent), asked };
};

it('after a gap that was reported, a connection that breaks is made again behind what has come since', async () => {
  const { commands, asked } = await serve([
    { bytes: 4, keptFrom: 0 },
    { bytes: 3, keptFrom: 10 },
    { bytes: 2, keptFrom: 0 },
  ]);
  const lost: LostOutput[] = [];
  const { stdout: kept } = await commands.run('x', { onOutputLost: (gap) => lost.push(gap) });
  expect(asked).toEqual([4n, 13n, 15n]);
  expect(lost).toEqual([{ offset: 4, lostBytes: 6 }]);
  expect(kept).toBe('abcdklmnopqrstuvwxyz');
});

it('each of two gaps is reported once, by where it begins', async () => {
  const { commands, asked } = await serve([
    { bytes: 1, keptFrom: 0 },
    { bytes: 1, keptFrom: 5 },
    { bytes: 99, keptFrom: 20 },
  ]);
  const lost: LostOutput[] = [];
  const { stdout: kept } = await commands.run('x', { onOutputLost: (gap) => lost.push(gap) });
  expect(asked).toEqual([1n, 6n]);
  expect(lost).toEqual([
    { offset: 1, lostBytes: 4 },
    { offset: 6, lostBytes: 14 },
  ]);
  expect(kept).toBe('afuvwxyz');
});
