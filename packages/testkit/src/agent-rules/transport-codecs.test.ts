import { setImmediate as turn } from 'node:timers/promises';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { ListDirResponseSchema, StatRequestSchema, StatResponseSchema } from '@skerry/envd-client/filesystem';
import { StartRequestSchema, StartResponseSchema } from '@skerry/envd-client/process';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { envelope, readEnvelopes } from './envelopes.ts';
import { begin, traceRest } from './process-events.ts';
import { jsonOf, streamJson, unaryJson, version } from './rpc-calls.ts';

testAgents((agent) => {
  const plain = agent.plain;
  const { unary, stream } = agent.rpc;
  const stat = 'filesystem.Filesystem/Stat';
  const start = 'process.Process/Start';
  const proto = { 'content-type': 'application/proto' };
  const streamProto = { 'content-type': 'application/connect+proto' };

  describe('the codecs', () => {
    it('rule 6.1-1, 10-36: unary calls speak JSON and protobuf, each answered in kind', async () => {
      const text = await unary(stat, { path: '/etc/hostname' });
      expect([text.status, text.headers['content-type']]).toEqual([200, 'application/json']);
      expect(text.json).toMatchObject({ entry: { name: 'hostname', path: '/etc/hostname' } });
      const request = toBinary(StatRequestSchema, create(StatRequestSchema, { path: '/etc/hostname' }));
      const binary = await unary(stat, Buffer.from(request), proto);
      expect([binary.status, binary.headers['content-type']]).toEqual([200, 'application/proto']);
      expect(fromBinary(StatResponseSchema, binary.bytes).entry).toMatchObject({
        name: 'hostname',
        path: '/etc/hostname',
      });
    });

    it('rule 6.1-1, 6.1-2, 10-36: streams speak both, framed alike, and end with flag 2 and {}', async () => {
      const process = { cmd: 'printf', args: ['hi'] };
      const text = await stream(start, [{ process }]);
      expect([text.status, text.headers['content-type']]).toEqual([200, 'application/connect+json']);
      expect(text.messages.map(({ flags }) => flags)).toEqual([0, 0, 0, 2]);
      expect(jsonOf(text)).toEqual([
        { event: { start: { pid: expect.any(Number), offsets: {} } } },
        { event: { data: { stdout: 'aGk=', offset: '0' } } },
        { event: { end: { exited: true, status: 'exit status 0' } } },
        {},
      ]);
      const request = Buffer.from(toBinary(StartRequestSchema, create(StartRequestSchema, { process })));
      const binary = await stream(start, [request], streamProto);
      expect([binary.status, binary.headers['content-type']]).toEqual([200, 'application/connect+proto']);
      expect(binary.messages.map(({ flags }) => flags)).toEqual([0, 0, 0, 2]);
      const events = binary.messages
        .slice(0, 3)
        .map(({ payload }) => fromBinary(StartResponseSchema, payload).event?.event.case);
      expect(events).toEqual(['start', 'data', 'end']);
      expect(binary.messages[3]?.payload.toString()).toBe('{}');
    });

    it('rule 6.1-1: another method or content type is refused, with nothing run', async () => {
      const body = JSON.stringify({ path: '/tmp/never' });
      for (const [method, procedure, type, status] of [
        ['PUT', 'filesystem.Filesystem/MakeDir', 'application/json', 405],
        ['GET', 'filesystem.Filesystem/MakeDir', 'application/json', 405],
        ['POST', 'filesystem.Filesystem/MakeDir', 'text/plain', 415],
        ['POST', 'filesystem.Filesystem/MakeDir', 'application/connect+json', 415],
        ['POST', 'filesystem.Filesystem/MakeDir', 'application/grpc', 415],
        ['POST', 'filesystem.Filesystem/MakeDirs', 'application/json', 404],
        ['POST', 'process.Process/Start', 'application/json', 415],
        ['POST', 'process.Process/Start', 'application/grpc-web+proto', 415],
      ] as const) {
        const headers = { ...version, 'content-type': type };
        const call = { headers, ...(method === 'GET' ? {} : { body }) };
        expect((await plain.refusal(`${method} /${procedure}`, call)).status).toBe(status);
      }
      expect((await unary(stat, { path: '/tmp/never' })).json).toMatchObject({ code: 'not_found' });
    });

    it('rule 6.1-2: the envelope may arrive byte by byte and several at once', async () => {
      const bytes = envelope({ process: { cmd: 'printf', args: ['slow'] } });
      async function* singly() {
        for (const byte of bytes) {
          yield Buffer.from([byte]);
          await turn();
        }
      }
      const slow = await plain.call(`POST /${start}`, { headers: streamJson, body: singly() });
      expect(readEnvelopes(slow.bytes).map(({ flags }) => flags)).toEqual([0, 0, 0, 2]);
    });
  });

  describe('failures', () => {
    it('rule 6.1-4: a unary call has the status of its code, a stream 200 and the error in its last message', async () => {
      const failed = await unary(stat, { path: '/no/such' });
      expect([failed.status, failed.headers['content-type']]).toEqual([404, 'application/json']);
      expect(failed.json).toEqual({ code: 'not_found', message: expect.stringContaining('/no/such') });
      const broken = await stream('process.Process/Connect', [{ process: { pid: 999_999 } }]);
      expect([broken.status, broken.headers['content-type']]).toEqual([200, 'application/connect+json']);
      expect(broken.messages.map(({ flags }) => flags)).toEqual([2]);
      expect(jsonOf(broken)).toEqual([{ error: { code: 'not_found', message: expect.any(String) } }]);
    });

    it.each([
      ['half a length', Buffer.from([0, 0, 0])],
      ['half a message', envelope({ process: { cmd: 'true' } }).subarray(0, 12)],
      ['no message', Buffer.alloc(0)],
      [
        'two messages',
        Buffer.concat([envelope({ process: { cmd: 'true' } }), envelope({ process: { cmd: 'true' } })]),
      ],
      ['a message that is no JSON', envelope(Buffer.from('{"process":'))],
      ['bytes that are no UTF-8', envelope(Buffer.from([0x22, 0xff, 0xfe, 0x22]))],
    ])('rule 6.1-2, 6.1-4: a stream with %s ends with an error and starts nothing', async (_what, body) => {
      const answer = await plain.call(`POST /${start}`, {
        headers: streamJson,
        body,
      });
      expect(answer.status).toBe(200);
      const [last, ...rest] = readEnvelopes(answer.bytes).toReversed();
      expect(last).toMatchObject({
        flags: 2,
        json: {
          error: {
            code: expect.stringMatching(/^(invalid_argument|unimplemented)$/),
            message: expect.any(String),
          },
        },
      });
      expect(rest).toEqual([]);
    });
  });

  describe('JSON', () => {
    it.each(['{"path":', '{"path":7}', '[]', 'null', ''])(
      'rule 6.1-4, 6.1-5: that is no such message (%s) is refused',
      async (body) => {
        const { status, json } = await unary(stat, body);
        expect([status, json]).toEqual([400, { code: 'invalid_argument', message: expect.any(String) }]);
      },
    );

    it('rule 6.1-5: goes out in lowerCamelCase and comes in as snake_case too', async () => {
      await agent.run('mkdir /tmp/cased');
      for (const [recursive, id] of [
        ['include_entry', 'watcher_id'],
        ['includeEntry', 'watcherId'],
      ] as const) {
        const made = await unary('filesystem.Filesystem/CreateWatcher', {
          path: '/tmp/cased',
          [recursive]: true,
        });
        expect(made.json).toEqual({ watcherId: expect.stringMatching(/^w/) });
        const { watcherId } = made.json as { watcherId: string };
        await agent.files.write(`/tmp/cased/${id}`, 'x');
        const drain = () => unary('filesystem.Filesystem/GetWatcherEvents', { [id]: watcherId });
        await expect
          .poll(async () => (await drain()).json)
          .toMatchObject({
            events: expect.arrayContaining([
              { name: id, type: 'EVENT_TYPE_CREATE', entry: expect.objectContaining({ name: id }) },
            ]),
          });
        expect((await unary('filesystem.Filesystem/RemoveWatcher', { [id]: watcherId })).json).toEqual({});
      }
    });

    it('rule 6.1-5: takes enums by name and by number, bytes as base64, and does not mind unknown fields', async () => {
      for (const signal of ['SIGNAL_SIGKILL', 9]) {
        const { pid, rest } = await begin(agent.client.process.start({ process: { cmd: 'cat' } }));
        const process = { pid, invented: true };
        const input = { stdin: Buffer.from('é€').toString('base64'), more: [1] };
        expect((await unary('process.Process/SendInput', { process, input, later: {} })).json).toEqual({});
        const { event } = (await rest[Symbol.asyncIterator]().next()).value?.event ?? {};
        expect(event).toMatchObject({
          value: { output: { case: 'stdout', value: new TextEncoder().encode('é€') } },
        });
        expect((await unary('process.Process/SendSignal', { process, signal })).json).toEqual({});
        expect((await traceRest({ pid, rest })).end).toMatchObject({ exitCode: -1 });
      }
    });

    it('rule 6.1-6, 10-37: writes times as RFC 3339, sizes as numbers and a oneof as its member', async () => {
      await agent.run('printf 12345 > /tmp/sized; touch -d "2024-02-29T12:34:56.789Z" /tmp/sized', 'user');
      const { json } = await unary(stat, { path: '/tmp/sized' });
      const { modifiedTime, ...entry } = (json as { entry: Record<string, unknown> }).entry;
      expect(entry).toEqual({
        name: 'sized',
        type: 'FILE_TYPE_FILE',
        path: '/tmp/sized',
        size: 5,
        mode: 0o644,
        permissions: '-rw-r--r--',
        owner: 'user',
        group: 'user',
      });
      expect(modifiedTime).toMatch(/^2024-02-29T12:34:56\.789\d*Z$/);
      const started = await stream(start, [{ process: { cmd: 'true' } }]);
      expect(jsonOf(started)[0]).toEqual({ event: { start: { pid: expect.any(Number), offsets: {} } } });
    });

    it('rule 6.1-6, 10-37: writes a size that no number holds exactly as text', async () => {
      await agent.run(
        'truncate -s 9007199254740993 /dev/shm/vast && truncate -s 9007199254740991 /dev/shm/big',
      );
      const text = await plain.call(`POST /${stat}`, {
        headers: unaryJson,
        body: '{"path":"/dev/shm/vast"}',
      });
      expect(text.text).toContain('"size":"9007199254740993"');
      expect((await unary(stat, { path: '/dev/shm/big' })).text).toContain('"size":9007199254740991,');
      await agent.run('rm /dev/shm/vast /dev/shm/big');
    });
  });

  describe('the early Python client', () => {
    const python = { 'user-agent': 'connect-python' };

    it('rule 6.1-7, 10-36: gets no field of an entry or an event that it cannot decode', async () => {
      await agent.files.write('/tmp/strict/one', 'x');
      const names = { name: 'one', type: 'FILE_TYPE_FILE', path: '/tmp/strict/one' };
      expect((await unary(stat, { path: '/tmp/strict/one' }, python)).json).toEqual({ entry: names });
      const [made, moved] = ['/tmp/strict-made', '/tmp/strict-moved'];
      const type = 'FILE_TYPE_DIRECTORY';
      expect((await unary('filesystem.Filesystem/MakeDir', { path: made }, python)).json).toEqual({
        entry: { name: 'strict-made', type, path: made },
      });
      const move = { source: made, destination: moved };
      expect((await unary('filesystem.Filesystem/Move', move, python)).json).toEqual({
        entry: { name: 'strict-moved', type, path: moved },
      });
      const list = 'filesystem.Filesystem/ListDir';
      expect((await unary(list, { path: '/tmp/strict' }, python)).json).toEqual({ entries: [names] });
      const { bytes } = await unary(list, Buffer.from([0x0a, 0x0b, ...Buffer.from('/tmp/strict')]), {
        ...python,
        ...proto,
      });
      expect(fromBinary(ListDirResponseSchema, bytes).entries).toMatchObject([
        { name: 'one', path: '/tmp/strict/one', size: 0n, mode: 0, permissions: '', owner: '' },
      ]);
      const request = { path: '/tmp/strict', includeEntry: true };
      const ended = await stream(start, [{ process: { cmd: 'sh', args: ['-c', 'kill -KILL $$'] } }], python);
      expect(jsonOf(ended).at(-2)).toEqual({
        event: { end: { exitCode: -1, status: 'signal: killed', error: 'signal: killed' } },
      });
      const watcher = await unary('filesystem.Filesystem/CreateWatcher', request, python);
      await agent.files.write('/tmp/strict/two', 'x');
      await expect
        .poll(async () => (await unary('filesystem.Filesystem/GetWatcherEvents', watcher.json, python)).json)
        .toMatchObject({ events: expect.arrayContaining([{ name: 'two', type: 'EVENT_TYPE_CREATE' }]) });
    });

    it('rule 6.1-7: is known by exactly this name', async () => {
      await agent.files.write('/tmp/newer', 'x');
      for (const name of ['connect-python/1.2', 'Connect-Python', 'python'])
        expect((await unary(stat, { path: '/tmp/newer' }, { 'user-agent': name })).json).toMatchObject({
          entry: { permissions: '-rw-r--r--' },
        });
    });
  });
});
