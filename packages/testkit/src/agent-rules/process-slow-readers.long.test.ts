import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { begin, byPid, type ProcessStream, runScript, sh, stdin } from './process-events.ts';

const MEGABYTE = 1_000_000;
/** How long a process waits for its only readers. */
const STALL_MS = 60_000;

testAgents((agent) => {
  const client = () => agent.clientOf({ codec: 'binary' });
  /** Bytes that differ everywhere, so that a lost, doubled or swapped piece shows. */
  const keystream = (sizeBytes: number): string =>
    `openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 -in /dev/zero 2>/dev/null | head -c ${sizeBytes}`;
  const digestOf = async (sizeBytes: number): Promise<string> =>
    (await runScript(client(), `${keystream(sizeBytes)} | sha256sum | head -c 64`)).stdout;

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
    (await runScript(client(), `[ -e ${path} ]`)).end?.exitCode === 0;

  /** Writes a megabyte for each byte that it gets in descriptor 3: as fast as those read who send them, on a busy machine too. */
  const WHEN_TOLD = `perl -e 'open(my $told, "<&=", 3); while (sysread($told, my $byte, 1) && read(STDIN, my $some, 1 << 20)) { syswrite(STDOUT, $some) }'`;

  describe('a reader that stops reading among others', () => {
    it('rule 11-1: it does not stall the others, which get 100 MB byte for byte, and its stream ends with aborted', async () => {
      const sizeBytes = 100 * MEGABYTE;
      const expected = await digestOf(sizeBytes);
      const script = `exec 3<&0; ${keystream(sizeBytes)} | ${WHEN_TOLD}`;
      const { pid, rest } = await begin(client().process.start({ ...sh(script), stdin: true }));
      const stuck = await begin(client().process.connect(byPid(pid)));
      const third = await begin(client().process.connect(byPid(pid)));
      const read = [0, 0];
      let told = 0;
      const tell = async (): Promise<void> => {
        while (told < Math.min(...read) / 2 ** 20 + 1) {
          told += 1;
          await client().process.sendInput({ ...byPid(pid), input: stdin('x') });
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
    it('rule 11-1: as the only reader it makes the process wait, and gets all output when it resumes', async () => {
      const sizeBytes = 60 * MEGABYTE;
      const expected = await digestOf(sizeBytes);
      const { rest } = await begin(
        client().process.start(sh(`${keystream(sizeBytes)}; touch /tmp/all-written`)),
      );
      await delay(3_000);
      expect(await exists('/tmp/all-written')).toBe(false);
      expect(await digest(rest)).toEqual({ hash: expected, sizeBytes, last: 'end' });
      expect(await exists('/tmp/all-written')).toBe(true);
    });
  });

  describe.concurrent('a reader that never reads on', () => {
    agent.needs('time');

    it('rule 11-1: as the only reader it is dropped after a minute, and the process continues', async ({
      expect: expectHere,
    }) => {
      const script = `head -c ${60 * MEGABYTE} /dev/zero; touch /tmp/went-on`;
      const { rest } = await begin(client().process.start(sh(script)));
      await delay(STALL_MS - 5_000);
      expect(await exists('/tmp/went-on')).toBe(false);
      await expectHere.poll(() => exists('/tmp/went-on')).toBe(true);
      await expect(digest(rest)).rejects.toMatchObject({ code: Code.Aborted });
    });
  });
});
