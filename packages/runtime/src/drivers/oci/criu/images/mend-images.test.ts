import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readFiles } from './files-image.ts';
import { mendImages } from './mend-images.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mend-images-'));
});
afterAll(() => rm(folder, { recursive: true }));

const [TCP, UDP] = [6, 17];
const [ESTABLISHED, SYN_SENT, CLOSE, CLOSE_WAIT, LISTEN] = [1, 2, 7, 8, 10];
const local = [0x0100007f];
const local6 = [0, 0, 0, 0x01000000];
const mapped = [0, 0, 0xffff0000, 0x0100007f];
const own = [0x4e00c90a];
const far = [0x01010101];

interface Socket {
  protocol?: number;
  state?: number;
  source: readonly number[];
  sourcePort: number;
  destination?: readonly number[];
  destinationPort?: number;
}

const toVarint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...toVarint(Math.floor(value / 128))];
const toField = (number: number, value: number): number[] => [...toVarint(number * 8), ...toVarint(value)];
const toMessage = (number: number, bytes: readonly number[]): number[] => [
  ...toVarint(number * 8 + 2),
  ...toVarint(bytes.length),
  ...bytes,
];
const toEntry = (fields: readonly number[]): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(fields.length);
  return Buffer.concat([length, Buffer.from(fields)]);
};

/** As CRIU writes `file_entry` and `inet_sk_entry`. */
const toSocketEntry = (socket: Socket): Buffer => {
  const {
    protocol = TCP,
    state = ESTABLISHED,
    source,
    sourcePort,
    destination = [0],
    destinationPort = 0,
  } = socket;
  const fields = [
    ...toField(1, 7),
    ...[toField(2, 99), toField(3, 2), toField(4, 1), toField(5, protocol), toField(6, state)].flat(),
    ...[toField(7, sourcePort), toField(8, destinationPort), toField(9, 0x8000), toField(10, 0)].flat(),
    ...source.flatMap((word) => toField(11, word)),
    ...destination.flatMap((word) => toField(12, word)),
    ...toMessage(13, [8, 1]),
  ];
  return toEntry([...toField(1, 2), ...toField(2, 7), ...toMessage(4, fields)]);
};

const plainFile = toEntry([...toField(1, 1), ...toField(2, 3), ...toMessage(3, [8, 1, 0x1d, 1, 2, 3, 4])]);
let image: Buffer;
const write = (...sockets: Socket[]): Promise<void> => {
  image = Buffer.concat([Buffer.alloc(8, 0xff), plainFile, ...sockets.map(toSocketEntry), plainFile]);
  return writeFile(join(folder, 'files.img'), image);
};
const read = (): Promise<Buffer> => readFile(join(folder, 'files.img'));
beforeEach(() => write());

const pair = (
  one: readonly number[],
  other: readonly number[],
  states = [ESTABLISHED, ESTABLISHED],
): Socket[] => [
  { state: states[0] ?? 0, source: one, sourcePort: 40_000, destination: other, destinationPort: 80 },
  { state: states[1] ?? 0, source: other, sourcePort: 80, destination: one, destinationPort: 40_000 },
];

describe('mending the images', () => {
  it.each([
    ['over IPv4', pair(local, local)],
    ['over IPv6', pair(local6, local6)],
    [
      'between a socket of IPv4 and one of IPv6',
      [...pair(local, local).slice(0, 1), ...pair(mapped, mapped).slice(1)],
    ],
    ['that is half closed', pair(local, local, [5, CLOSE_WAIT])],
    ['that the other end has closed for good', pair(local, local, [CLOSE_WAIT, 0]).slice(0, 1)],
    ['of datagrams', [{ ...pair(local, local)[0], protocol: UDP } as Socket]],
  ])('keeps a connection over loopback %s', async (_, sockets) => {
    await write(...sockets);
    expect(await mendImages(folder, [])).toBe(true);
    expect(await read()).toEqual(image);
  });

  it.each([
    ['to the outside', pair(own, far).slice(0, 1)],
    ['to an address of the sandbox itself, which changes', pair(own, own)],
    ['of which nobody has accepted the other end', pair(local, local).slice(0, 1)],
    ['that is just being made', pair(local, local, [SYN_SENT, LISTEN]).slice(0, 1)],
  ])('closes a connection %s', async (_, sockets) => {
    await write(...sockets);
    expect(await mendImages(folder, [])).toBe(false);
    const changed = (await read()).toString('hex');
    await write(...sockets.map((socket) => ({ ...socket, state: CLOSE })));
    // A port of no value in as many bytes as before.
    const zero = (port: number): [string, string] => [
      Buffer.from([64, ...toVarint(port)]).toString('hex'),
      Buffer.from([
        64,
        ...toVarint(port).map((_byte, index, all) => (index < all.length - 1 ? 128 : 0)),
      ]).toString('hex'),
    ];
    let expected = image.toString('hex');
    for (const [from, to] of [zero(80), zero(40_000)]) expected = expected.replace(from, to);
    expect(changed).toBe(expected);
  });

  it('asks for a network for a socket of ping', async () => {
    await write({ protocol: 1, state: CLOSE, source: [0], sourcePort: 7 });
    expect(await mendImages(folder, [])).toBe(true);
    expect(await read()).toEqual(image);
  });

  it('leaves what is not connected alone', async () => {
    await write(
      { state: LISTEN, source: own, sourcePort: 80 },
      { protocol: UDP, state: CLOSE, source: own, sourcePort: 53 },
    );
    expect(await mendImages(folder, [])).toBe(false);
    expect(await read()).toEqual(image);
  });

  it('shortens the names of files that were deleted, and of no others', async () => {
    const GHOST = 1;
    const toFile = (id: number, path: string): Buffer => {
      const name = toMessage(6, [...Buffer.from(path)]);
      const reg = [...toField(1, id), ...toField(2, 0), ...toField(3, 9), ...toMessage(5, [8, 1]), ...name];
      return toEntry([...toField(1, 1), ...toField(2, id), ...toMessage(3, [...reg, ...toField(7, 300)])]);
    };
    const long = (id: number, bytes: number): Buffer => toFile(id, `/root/${'x'.repeat(bytes)}`);
    const files = [long(1, 255), long(2, 237), long(3, 255), long(4, 238)];
    await writeFile(join(folder, 'files.img'), Buffer.concat([Buffer.alloc(8), ...files]));
    const remaps = [
      [1, GHOST],
      [2, GHOST],
      [3, 0],
      [4, GHOST],
    ].map(([id = 0, type = 0]) => toEntry([...toField(1, id), ...toField(2, 1), ...toField(3, type)]));
    await writeFile(join(folder, 'remap-fpath.img'), Buffer.concat([Buffer.alloc(8), ...remaps]));
    await mendImages(folder, []);
    const changed = await readFiles(await read(), [3]);
    const fields = changed.get(3) ?? [];
    const bytes = await read();
    const names = fields.map((all) =>
      all.filter(({ number }) => number === 6).map(({ start, end }) => bytes.toString('utf8', start, end)),
    );
    const expected = [236, 237, 255, 236].map((length) => [`/root/${'x'.repeat(length)}`]);
    expect(names).toEqual(expected);
    // What comes after is where it was.
    expect(fields.map((all) => all.filter(({ number }) => number === 7).map(({ value }) => value))).toEqual(
      files.map(() => [300]),
    );
    await rm(join(folder, 'remap-fpath.img'));
  });

  it('says neither size nor mode of the files that a copy writes anew, and those of all others', async () => {
    const toFile = (id: number, path: string): Buffer => {
      const name = toMessage(6, [...Buffer.from(path)]);
      const reg = [...toField(1, id), ...name, ...toField(8, 300), ...toField(10, 0o100644)];
      return toEntry([...toField(1, 1), ...toField(2, id), ...toMessage(3, reg)]);
    };
    const names = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf', '/etc/passwd', '/root/etc/hosts'];
    const files = names.map((name, index) => toFile(index, name));
    await writeFile(join(folder, 'files.img'), Buffer.concat([Buffer.alloc(8), ...files]));
    await mendImages(folder, []);
    const fields = (await readFiles(await read(), [3])).get(3) ?? [];
    const numbers = fields.map((all) => all.map(({ number }) => number));
    expect(numbers).toEqual([
      ...names.slice(0, 3).map(() => [1, 6, 15, 15]),
      ...[0, 1].map(() => [1, 6, 8, 10]),
    ]);
  });

  it('refuses what is no list of files', async () => {
    await writeFile(join(folder, 'files.img'), Buffer.concat([Buffer.alloc(8), toEntry([0x23, 1])]));
    await expect(mendImages(folder, [])).rejects.toMatchObject({ code: 'internal' });
  });
});
