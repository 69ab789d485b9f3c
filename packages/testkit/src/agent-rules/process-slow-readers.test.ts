import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { type StackSandbox, toRouting } from '../stack/stack-client.ts';
import { begin, byPid, type ProcessStream, runScript, sh, stdin } from './process-events.ts';

const MEGABYTE = 1_000_000;
/** For how long a process waits for its only readers. */
const STALL_MS = 60_000;

let stack: SharedStack;
let sandbox: StackSandbox;
let agent: EnvdClient;
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  const { sandboxUrl: baseUrl } = stack.address;
  const headers = toRouting(sandbox.sandboxId);
  agent = createEnvdClient({ baseUrl, accessToken: sandbox.accessToken, headers, codec: 'binary' });
});
afterAll(() => stack.leave());

/** Bytes that differ everywhere, so that a lost, doubled or swapped piece shows. */
const keystream = (sizeBytes: number): string =>
  `openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 -in /dev/zero 2>/dev/null | head -c ${sizeBytes}`;
const digestOf = async (sizeBytes: number): Promise<string> =>
  (await runScript(agent, `${keystream(sizeBytes)} | sha256sum | head -c 64`)).stdout;

const digest = async (stream: ProcessStream, onBytes?: (sizeBytes: number) => Promise<void>) => {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let last: string | undefined;
  for await (const { event } of stream) {
    last = event?.event.case;
    if (event?.event.case !== 'data') continue;
    const bytes = event.event.value.output.value ?? new Uint8Array();
    hash.update(bytes);
    sizeBytes += bytes.length;
    await onBytes?.(sizeBytes);
  }
  return { hash: hash.digest('hex'), sizeBytes, last };
};
const exists = async (path: string): Promise<boolean> =>
  (await runScript(agent, `[ -e ${path} ]`)).end?.exitCode === 0;

/** Writes a megabyte for each byte that it gets in descriptor 3: as fast as those read who send them, on a busy machine too. */
const WHEN_TOLD = `perl -e 'open(my $told, "<&=", 3); while (sysread($told, my $byte, 1) && read(STDIN, my $some, 1 << 20)) { syswrite(STDOUT, $some) }'`;

describe('a reader that stops reading among others', () => {
  it('rule 11-1: it stalls none of the others, who get 100 MB byte for byte, and is dropped with aborted', async () => {
    const sizeBytes = 100 * MEGABYTE;
    const expected = await digestOf(sizeBytes);
    const script = `exec 3<&0; ${keystream(sizeBytes)} | ${WHEN_TOLD}`;
    const { pid, rest } = await begin(agent.process.start({ ...sh(script), stdin: true }));
    const stuck = await begin(agent.process.connect(byPid(pid)));
    const third = await begin(agent.process.connect(byPid(pid)));
    const read = [0, 0];
    let told = 0;
    const tell = async (): Promise<void> => {
      while (told < Math.min(...read) / 2 ** 20 + 1) {
        told += 1;
        await agent.process.sendInput({ ...byPid(pid), input: stdin('x') });
      }
    };
    await tell();
    const readers = [rest, third.rest].map((stream, index) =>
      digest(stream, async (readBytes) => {
        read[index] = readBytes;
        await tell();
      }),
    );
    for (const got of await Promise.all(readers)) {
      expect(got).toEqual({ hash: expected, sizeBytes, last: 'end' });
    }
    await expect(digest(stuck.rest)).rejects.toMatchObject({
      code: Code.Aborted,
      message: expect.stringContaining('too slow'),
    });
  });
});

describe.concurrent('a reader that stops reading alone', () => {
  it('rule 11-1: as the only one it holds the process back, and gets everything when it reads on', async () => {
    const sizeBytes = 60 * MEGABYTE;
    const expected = await digestOf(sizeBytes);
    const { rest } = await begin(agent.process.start(sh(`${keystream(sizeBytes)}; touch /tmp/all-written`)));
    await delay(3_000);
    expect(await exists('/tmp/all-written')).toBe(false);
    expect(await digest(rest)).toEqual({ hash: expected, sizeBytes, last: 'end' });
    expect(await exists('/tmp/all-written')).toBe(true);
  });

  it('rule 11-1: as the only one it is dropped after a minute, and the process goes on', async ({
    expect: expectHere,
  }) => {
    const script = `head -c ${60 * MEGABYTE} /dev/zero; touch /tmp/went-on`;
    const { rest } = await begin(agent.process.start(sh(script)));
    await delay(STALL_MS - 5_000);
    expect(await exists('/tmp/went-on')).toBe(false);
    await expectHere.poll(() => exists('/tmp/went-on'), { timeout: 20_000 }).toBe(true);
    await expect(digest(rest)).rejects.toMatchObject({ code: Code.Aborted });
  }, 90_000);
});
