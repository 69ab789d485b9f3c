import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Instance } from '../../../../runtime.ts';
import { runInside } from '../../../../suite/client.ts';
import { useSentry } from '../../testing/sentry-lab.ts';
import { forgetInterests } from './forget-interests.ts';

const oci = useSentry('interests');

/**
 * Prints what a poll reports, once a second line of its input has come. The pipe stays registered and leads to the
 * connection: the sentry has found both unready at the same time.
 */
const program = `
import os, select, socket, time
e = select.epoll(); r, w = os.pipe(); e.register(r, select.EPOLLIN)
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname()); x = s.accept()[0]
e.register(x, select.EPOLLIN | EDGES)
def until(ready):
  while len(select.select(ready, [], [], 9)[0]) < len(ready): pass
os.write(w, b"a"); c.send(b"b"); until([r, x])
os.read(r, 9); x.recv(9); assert e.poll(0) == []
c.close(); until([x]); assert len(e.poll(0)) == 1
e.unregister(x); x.close(); assert e.poll(0) == []
open("/root/ready", "w").close()
while not os.path.exists("/root/go"): time.sleep(0.05)
seen = e.poll(0); os.write(w, b"c"); seen += e.poll(1)
open("/root/seen.new", "w").write(repr([f == r for f, _ in seen])); os.rename("/root/seen.new", "/root/seen")
time.sleep(99)`;

const start = async (instance: Instance, edges: string): Promise<void> => {
  const script = program.replace('EDGES', edges);
  await runInside(
    instance,
    `python3 -c '${script}' >/root/log 2>&1 </dev/null & until [ -e /root/ready ]; do sleep 0.05; done`,
  );
};
const look = async (instance: Instance): Promise<string> =>
  (await runInside(instance, 'touch /root/go; until [ -e /root/seen ]; do sleep 0.05; done; cat /root/seen'))
    .output;

describe('an epoll instance that has forgotten a closed connection', () => {
  it.each(['0', 'select.EPOLLET | select.EPOLLRDHUP'])(
    'reports after a resume, and in a copy, only what is registered (events %s)',
    async (edges) => {
      const instance = await oci.create();
      await start(instance, edges);
      const snapshot = oci.toId();
      await instance.snapshot({ id: snapshot, memory: true });
      const copy = await oci.create({ snapshot });
      await instance.pause({ memory: true });
      await instance.resume();
      for (const one of [instance, copy]) expect(await look(one)).toBe('[True]');
    },
  );
});

describe('a file that is no state of a sentry', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'skerry-interests-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const metadata = '{"compression":"none"}';
  const head = (text: string): Buffer => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(text.length));
    return Buffer.concat([Buffer.from('gVisorSF'), length, Buffer.from(text), Buffer.alloc(32)]);
  };
  const record = (...bytes: number[]): Buffer => Buffer.from([0, 0, 0, bytes.length, ...bytes]);
  const manyObjects = record(0xff, ...Array.from({ length: 8 }, () => 0xff), 1);

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['other bytes', randomBytes(4096)],
    ['compressed', Buffer.concat([head('{"compression":"flate-best-speed"}'), record(1, 2)])],
    ['cut off', Buffer.concat([head(metadata), manyObjects, record(2, 1, 11)])],
    ['of unknown items', Buffer.concat([head(metadata), manyObjects, record(2, 1, 99)])],
    [
      'nested without end',
      Buffer.concat([
        head(metadata),
        manyObjects,
        record(2, 1),
        ...Array.from({ length: 99_999 }, () => record(11, 0)),
      ]),
    ],
  ])('is left as it is: %s', async (_, bytes) => {
    const path = join(folder, 'checkpoint.img');
    await writeFile(path, bytes);
    expect(await forgetInterests(path)).toBe(0);
    expect(await readFile(path)).toEqual(bytes);
  });
});
