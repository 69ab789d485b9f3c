import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { ProcessSelectorSchema, Signal, type StreamInputRequestSchema } from '@skerry/envd-client/process';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { begin, byPid, pty, runScript, sh, stdin, trace } from './process-events.ts';
import { postCall, postStream } from './raw-stream.ts';

type Message = MessageInitShape<typeof StreamInputRequestSchema>;

const size = { cols: 80, rows: 24 };

testAgents((agent) => {
  const kill = (pid: number) => agent.client.process.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
  const start = (pid: number): Message => ({ event: { case: 'start', value: byPid(pid) } });
  const data = (input: ReturnType<typeof stdin>): Message => ({ event: { case: 'data', value: { input } } });
  const KEEPALIVE: Message = { event: { case: 'keepalive', value: {} } };
  const stream = (messages: Message[]) =>
    agent.client.process.streamInput(
      (async function* () {
        yield* messages;
      })(),
    );

  describe('SendInput', () => {
    it('rule 6.2-5: it writes to standard input, and to a terminal', async () => {
      const line = await begin(agent.client.process.start(sh('read a; echo "got $a"')));
      const process = { pid: line.pid };
      const answer = await postCall(agent.rpc, 'process.Process/SendInput', {
        process,
        input: { stdin: btoa('one\n') },
      });
      expect(answer).toEqual({ status: 200, json: {} });
      let text = '';
      for await (const { event } of line.rest)
        if (event?.event.case === 'data')
          text += Buffer.from(event.event.value.output.value ?? []).toString();
      expect(text).toBe('got one\n');
      const terminal = await begin(
        agent.client.process.start({ ...sh('read a; echo "[$a]"'), pty: { size } }),
      );
      const reading = trace(agent.client.process.connect({ ...byPid(terminal.pid), skerryOffset: 0n }));
      await agent.client.process.sendInput({ ...byPid(terminal.pid), input: pty('two\r') });
      expect((await reading).pty).toContain('\r\n[two]\r\n');
    });

    it('rule 6.3-18: the wrong kind of input, a closed or disabled standard input, and a size for pipes are internal', async () => {
      const pipes = await begin(agent.client.process.start(sh('sleep 100')));
      const off = await begin(agent.client.process.start({ ...sh('sleep 100'), stdin: false }));
      const terminal = await begin(agent.client.process.start({ ...sh('sleep 100'), pty: { size } }));
      const internal = { code: Code.Internal };
      const send = (pid: number, input: ReturnType<typeof stdin | typeof pty>) =>
        agent.client.process.sendInput({ ...byPid(pid), input });
      await expect(send(terminal.pid, stdin('x'))).rejects.toMatchObject(internal);
      await expect(send(pipes.pid, pty('x'))).rejects.toMatchObject(internal);
      await expect(send(off.pid, stdin('x'))).rejects.toMatchObject(internal);
      await expect(stream([start(off.pid), data(stdin('x'))])).rejects.toMatchObject(internal);
      await expect(agent.client.process.update({ ...byPid(pipes.pid), pty: { size } })).rejects.toMatchObject(
        internal,
      );
      await agent.client.process.closeStdin(byPid(pipes.pid));
      await expect(send(pipes.pid, stdin('x'))).rejects.toMatchObject(internal);
      for (const { pid } of [pipes, off, terminal]) await kill(pid);
    });
  });

  describe('CloseStdin', () => {
    it('rule 6.2-8, 6.3-17: it ends standard input after what was written, and a second time is a success', async () => {
      const { pid } = await begin(agent.client.process.start(sh('cat; echo end; sleep 0.5')));
      const reading = trace(agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }));
      for (const text of ['one ', 'two ', 'three '])
        await agent.client.process.sendInput({ ...byPid(pid), input: stdin(text) });
      for (let times = 0; times < 2; times += 1) {
        const answer = await postCall(agent.rpc, 'process.Process/CloseStdin', { process: { pid } });
        expect(answer).toEqual({ status: 200, json: {} });
      }
      expect(await reading).toMatchObject({ stdout: 'one two three end\n', end: { exitCode: 0 } });
    });

    it('rule 6.3-17: of a terminal it is unknown, and the terminal goes on', async () => {
      const { pid } = await begin(
        agent.client.process.start({ ...sh('read a; echo "[$a]"'), pty: { size } }),
      );
      const reading = trace(agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }));
      await expect(agent.client.process.closeStdin(byPid(pid))).rejects.toMatchObject({ code: Code.Unknown });
      await agent.client.process.sendInput({ ...byPid(pid), input: pty('still\r') });
      expect((await reading).pty).toContain('[still]');
    });
  });

  describe('StreamInput', () => {
    it('rule 6.2-6: it writes each piece as it comes and answers once, when the request ends', async () => {
      const { pid, rest } = await begin(
        agent.client.process.start(sh('while read a; do echo "got $a"; done; echo end')),
      );
      let echoed = (): void => {};
      const reading = (async () => {
        let text = '';
        for await (const { event } of rest) {
          if (event?.event.case !== 'data') continue;
          text += Buffer.from(event.event.value.output.value ?? []).toString();
          echoed();
        }
        return text;
      })();
      let isAnswered = false;
      const messages = async function* (): AsyncGenerator<Message> {
        yield start(pid);
        for (const text of ['one\n', 'two\n']) {
          // The next piece goes out when this one has come back, while the request is open.
          const echo = new Promise<void>((resolve) => {
            echoed = resolve;
          });
          yield data(stdin(text));
          await echo;
          expect(isAnswered).toBe(false);
        }
      };
      await agent.client.process.streamInput(messages());
      isAnswered = true;
      await agent.client.process.sendInput({ ...byPid(pid), input: stdin('three\n') });
      await agent.client.process.closeStdin(byPid(pid));
      expect(await reading).toBe('got one\ngot two\ngot three\nend\n');
    });

    it('rule 6.3-20: pieces keep their order past a process that reads late, keepalives do not count, standard input stays open', async () => {
      const pieces = Array.from({ length: 60 }, (_, at) => `piece ${at} `.repeat(10_000));
      const { length } = pieces.join('');
      const script = `sleep 0.5; head -c ${length} | sha256sum; read a; echo "then $a"`;
      const { pid } = await begin(agent.client.process.start(sh(script)));
      const reading = trace(agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }));
      await stream([start(pid), ...pieces.flatMap((text) => [KEEPALIVE, data(stdin(text))])]);
      await agent.client.process.sendInput({ ...byPid(pid), input: stdin('more\n') });
      const hash = createHash('sha256').update(pieces.join('')).digest('hex');
      expect((await reading).stdout).toBe(`${hash}  -\nthen more\n`);
    });

    it('rule 10-35: the input of a data message is field 2 and is named input, and the answer is {} and the end of the stream', async () => {
      const { pid } = await begin(agent.client.process.start(sh('read a; echo "$a"')));
      const reading = trace(agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }));
      const messages = [{ start: { process: { pid } } }, { data: { input: { stdin: btoa('in\n') } } }];
      const answer = await postStream(agent.rpc, { procedure: 'process.Process/StreamInput', messages });
      expect(answer.status).toBe(200);
      expect(answer.envelopes).toMatchObject([
        { flags: 0, json: {} },
        { flags: 2, json: {} },
      ]);
      expect((await reading).stdout).toBe('in\n');
      // The fields by number, as a binary message has them: field 2 (data), in it field 2 (input), in it field 1 (stdin).
      const { pid: next } = await begin(agent.client.process.start(sh('read a; echo "$a"')));
      const echoed = trace(agent.client.process.connect({ ...byPid(next), skerryOffset: 0n }));
      const selector = toBinary(ProcessSelectorSchema, create(ProcessSelectorSchema, byPid(next).process));
      const { envelopes } = await postStream(agent.rpc, {
        procedure: 'process.Process/StreamInput',
        messages: [
          Buffer.from([0x0a, selector.length + 2, 0x0a, selector.length, ...selector]),
          Buffer.from([0x12, 7, 0x12, 5, 0x0a, 3, ...Buffer.from('by\n')]),
        ],
        headers: { 'content-type': 'application/connect+proto' },
      });
      expect(envelopes.map(({ flags, payload }) => [flags, payload.toString()])).toEqual([
        [0, ''],
        [2, '{}'],
      ]);
      expect((await echoed).stdout).toBe('by\n');
    });

    it.each([
      ['data first', () => [data(stdin('x'))]],
      ['a keepalive first', () => [KEEPALIVE]],
      ['a message that is empty', () => [{}]],
      ['no message at all', () => []],
      ['a second start', (pid: number) => [start(pid), start(pid)]],
      ['a second start after data', (pid: number) => [start(pid), data(stdin('y')), start(pid)]],
    ])(
      'rule 11-3: a stream with %s is an invalid argument, and the agent and the process live',
      async (_title, messages) => {
        const { pid } = await begin(agent.client.process.start(sh('sleep 100')));
        await expect(stream(messages(pid))).rejects.toMatchObject({ code: Code.InvalidArgument });
        // The answer does not wait for a client that is still sending.
        const endless = async function* (): AsyncGenerator<Message> {
          yield* messages(pid);
          await delay(300);
          yield* messages(pid);
        };
        await expect(agent.client.process.streamInput(endless())).rejects.toMatchObject({
          code: Code.InvalidArgument,
        });
        expect((await agent.client.process.list({})).processes.some((each) => each.pid === pid)).toBe(true);
        await kill(pid);
        expect((await runScript(agent.client, 'echo fine')).stdout).toBe('fine\n');
      },
    );
  });
});
