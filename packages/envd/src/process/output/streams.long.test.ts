import { readFileSync, writeFileSync } from 'node:fs';
import { Code } from '@connectrpc/connect';
import type { ProcessEvent } from '@skerry/envd-client/process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../../testing/collect-output.ts';
import { createGate } from '../../testing/gate.ts';
import { startAgent, type TestAgent } from '../../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

type Stream = AsyncIterable<{ event?: ProcessEvent | undefined }>;

const MEGABYTE = 1_000_000;
const sh = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] }, stdin: false });
const byPid = (value: number) => ({ process: { selector: { case: 'pid' as const, value } } });

/** Opens a stream, reads its start event and nothing else. Until `rest` is read its socket fills up. */
const open = async (stream: Stream) => {
  const rest = stream[Symbol.asyncIterator]();
  const event = (await rest.next()).value?.event?.event;
  if (event?.case !== 'start') throw new Error(`first event is ${event?.case}`);
  return { ...event.value, offset: event.value.skerryOffset, rest: { [Symbol.asyncIterator]: () => rest } };
};

/** The length of stdout and the last event, without keeping the output. */
const measure = async (stream: Stream) => {
  let sizeBytes = 0;
  let last: string | undefined;
  for await (const { event } of stream) {
    last = event?.event.case;
    if (event?.event.case !== 'data') continue;
    const bytes = event.event.value.output.value ?? new Uint8Array();
    sizeBytes += bytes.length;
  }
  return { sizeBytes, last };
};

const memoryOf = (field: 'VmRSS' | 'VmHWM'): number =>
  Number(
    new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${agent.pid}/status`, 'utf8'))?.[1],
  ) * 1024;

/** How far the memory of the agent rises above what it is now while `run` is under way. */
const risenBytes = async (run: () => Promise<unknown>): Promise<number> => {
  const before = memoryOf('VmRSS');
  // Begins the peak anew (proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${agent.pid}/clear_refs`, '5');
  await run();
  return memoryOf('VmHWM') - before;
};
const MAX_RISE_BYTES = 64 * 1024 * 1024;

describe('the memory of the agent', () => {
  const sizeBytes = 100 * MEGABYTE;

  it.each([
    ['one reader of JSON', { binary: false, readers: 1, stuck: 0, skerryHoldMs: 0 }],
    ['one reader that means to come back', { binary: true, readers: 1, stuck: 0, skerryHoldMs: 5_000 }],
    ['four readers', { binary: true, readers: 4, stuck: 0, skerryHoldMs: 0 }],
    ['a reader beside one that is stuck', { binary: true, readers: 1, stuck: 1, skerryHoldMs: 0 }],
  ])('stays below 64 MiB more while 100 MB flow to %s', async (_title, options) => {
    const { binary, readers, stuck, skerryHoldMs } = options;
    // JSON takes twice the time, most of it to be read here.
    const processes = agent.processes({ binary });
    // Loads everything first.
    await collectOutput(processes.start(sh('echo')));
    const rise = await risenBytes(async () => {
      const gate = createGate(agent.dir);
      const request = { ...sh(`${gate.wait}; head -c ${sizeBytes} /dev/zero`), skerryHoldMs };
      const { pid, rest } = await open(processes.start(request));
      const others = await Promise.all(
        Array.from({ length: readers - 1 + stuck }, () => open(processes.connect(byPid(pid)))),
      );
      gate.open();
      const reading = await Promise.allSettled(
        [rest, ...others.slice(stuck).map((other) => other.rest)].map(measure),
      );
      const told = reading.filter(({ status }) => status === 'rejected');
      // All read in this one program: on a busy machine one may fall so far behind the others that it is dropped.
      expect(told.length).toBeLessThan(readers);
      for (const result of reading) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: Code.Aborted });
        else expect(result.value).toMatchObject({ sizeBytes, last: 'end' });
      }
      for (const { rest: unread } of others.slice(0, stuck))
        await expect(measure(unread)).rejects.toThrow('too slow');
    });
    expect(rise).toBeLessThan(MAX_RISE_BYTES);
  });
});
