import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSandboxRoot } from '../processes/sandbox-root.ts';
import { mendImages } from './mend-images.ts';
import { toEntry, toField, toMessage, toTrees } from './testing/raw-image.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mend-images-'));
});
afterAll(() => rm(folder, { recursive: true }));

const mend = (pids: readonly number[] = []) =>
  mendImages(folder, { pids, root: createSandboxRoot(process.pid) });

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

/** Returns a socket in the form of CRIU's `file_entry` and `inet_sk_entry`. */
const toSocketEntry = (socket: Socket): Uint8Array => {
  const {
    protocol = TCP,
    state = ESTABLISHED,
    source,
    sourcePort,
    destination = [0],
    destinationPort = 0,
  } = socket;
  const fields = [
    [toField(1, 7), toField(2, 99), toField(3, 2), toField(4, 1), toField(5, protocol), toField(6, state)],
    [toField(7, sourcePort), toField(8, destinationPort), toField(9, 0x8000), toField(10, 0)],
    source.map((word) => toField(11, word)),
    destination.map((word) => toField(12, word)),
    [toMessage(13, toField(1, 1))],
  ];
  return toEntry(toField(1, 2), toField(2, 7), toMessage(4, ...fields.flat()));
};

const plainFile = toEntry(
  ...[toField(1, 1), toField(2, 3)],
  toMessage(3, toField(1, 1), Buffer.from('1d01020304', 'hex')),
);
let image: Buffer;
const write = (...sockets: Socket[]): Promise<void> => {
  image = Buffer.concat([Buffer.alloc(8, 0xff), plainFile, ...sockets.map(toSocketEntry), plainFile]);
  return writeFile(join(folder, 'files.img'), image);
};
const writeFiles = (...files: Uint8Array[]): Promise<void> =>
  writeFile(join(folder, 'files.img'), Buffer.concat([Buffer.alloc(8), ...files]));
const read = (): Promise<Buffer> => readFile(join(folder, 'files.img'));
beforeEach(async () => {
  await write();
  // Write the queue of the sockets below, which have one number: it is empty.
  await writeFile(
    join(folder, 'tcp-stream-63.img'),
    Buffer.concat([Buffer.alloc(8), toEntry(toField(1, 0))]),
  );
});

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
    expect((await mend()).needsNetwork).toBe(true);
    expect(await read()).toEqual(image);
  });

  it.each([
    ['to the outside', pair(own, far).slice(0, 1)],
    ['to an address of the sandbox itself, which changes', pair(own, own)],
    ['whose other end is not accepted yet', pair(local, local).slice(0, 1)],
    ['that is just being made', pair(local, local, [SYN_SENT, LISTEN]).slice(0, 1)],
  ])('closes a connection %s', async (_, sockets) => {
    await write(...sockets);
    expect((await mend()).needsNetwork).toBe(false);
    const changed = toTrees(await read());
    await write(...sockets.map((socket) => ({ ...socket, state: CLOSE, destinationPort: 0 })));
    expect(changed).toEqual(toTrees(await read()));
  });

  it('asks for a network for a socket of ping', async () => {
    await write({ protocol: 1, state: CLOSE, source: [0], sourcePort: 7 });
    expect((await mend()).needsNetwork).toBe(true);
    expect(await read()).toEqual(image);
  });

  it('leaves what is not connected alone', async () => {
    await write(
      { state: LISTEN, source: own, sourcePort: 80 },
      { protocol: UDP, state: CLOSE, source: own, sourcePort: 53 },
    );
    expect((await mend()).needsNetwork).toBe(false);
    expect(await read()).toEqual(image);
  });

  it('shortens the names of files that were deleted, and of no others', async () => {
    const GHOST = 1;
    const toFile = (id: number, path: string): Uint8Array => {
      const fields = [toField(1, id), toField(2, 0), toField(3, 9), toMessage(5, toField(1, 1))];
      return toEntry(
        toField(1, 1),
        toField(2, id),
        toMessage(3, ...fields, toMessage(6, Buffer.from(path)), toField(7, 300)),
      );
    };
    const long = (id: number, bytes: number): Uint8Array => toFile(id, `/root/${'x'.repeat(bytes)}`);
    await writeFiles(long(1, 255), long(2, 237), long(3, 255), long(4, 238));
    const remaps = [
      [1, GHOST],
      [2, GHOST],
      [3, 0],
      [4, GHOST],
    ].map(([id = 0, type = 0]) => toEntry(toField(1, id), toField(2, 1), toField(3, type)));
    await writeFile(join(folder, 'remap-fpath.img'), Buffer.concat([Buffer.alloc(8), ...remaps]));
    await mend();
    const changed = toTrees(await read());
    await writeFiles(long(1, 237), long(2, 237), long(3, 255), long(4, 237));
    expect(changed).toEqual(toTrees(await read()));
    await rm(join(folder, 'remap-fpath.img'));
  });

  it('says neither size nor mode of the files that a copy writes anew, and those of all others', async () => {
    const toFile = (path: string, hasState = true): Uint8Array => {
      const state = hasState ? [toField(8, 300), toField(10, 0o100644)] : [];
      return toEntry(
        toField(1, 1),
        toMessage(3, toField(1, 1), toMessage(6, Buffer.from(path)), toField(9, 1), ...state),
      );
    };
    const rewritten = ['/etc/hosts', '/etc/hostname'];
    const others = ['/etc/resolv.conf', '/root/etc/hosts'].map((path) => toFile(path));
    await writeFiles(...rewritten.map((path) => toFile(path)), ...others);
    await mend();
    const changed = toTrees(await read());
    await writeFiles(...rewritten.map((path) => toFile(path, false)), ...others);
    expect(changed).toEqual(toTrees(await read()));
  });

  it('keeps what it does not know, whatever its type, and names that are not UTF-8', async () => {
    const unknown = [
      toField(300, 2n ** 64n - 1n),
      new BinaryWriter()
        .tag(301, WireType.Bit64)
        .fixed64(2n ** 64n - 1n)
        .finish(),
      new BinaryWriter().tag(302, WireType.Bit32).fixed32(7).finish(),
      toMessage(303, Buffer.from('ff00fe', 'hex')),
      toField(300, 5),
    ];
    const toHandle = (): Uint8Array =>
      toMessage(7, toField(1, 24), toField(2, 0xf8), toField(3, 2n ** 63n + 1n), ...unknown);
    const toWatch = (): Uint8Array =>
      toMessage(5, toField(1, 3), toField(2, 2n ** 60n + 1n), toField(5, 9), toHandle(), ...unknown);
    const name = toMessage(6, Buffer.from('2fff80fe', 'hex'));
    const toSocket = (port: number): Uint8Array => {
      const address = [toField(11, far[0] ?? 0), toField(12, far[0] ?? 0)];
      return toMessage(4, toField(5, UDP), toField(6, CLOSE), toField(8, port), ...address, ...unknown);
    };
    const toFiles = (port: number): Uint8Array[] => [
      toEntry(toField(1, 1), toMessage(3, name, toField(1, 8), ...unknown), ...unknown),
      toEntry(toField(1, 8), toMessage(13, toField(1, 4), toWatch(), toWatch(), ...unknown)),
      toEntry(...unknown),
      toEntry(toSocket(port)),
    ];
    await writeFiles(...toFiles(80));
    await mend();
    const changed = toTrees(await read());
    await writeFiles(...toFiles(0));
    expect(changed).toEqual(toTrees(await read()));
  });

  it('drops the watches of a file that is open and has no name, and no others', async () => {
    const path = join(folder, 'gone');
    await using file = await open(path, 'w');
    const { ino } = await file.stat({ bigint: true });
    const device = await readMountDevice(file.fd);
    await rm(path);
    const toWatch = (wd: number, on: number, inode: bigint): Uint8Array =>
      toMessage(5, toField(2, inode), toField(5, on), toField(6, wd));
    const kept = [toWatch(2, device, ino + 1n), toWatch(3, device + 1, ino)];
    const toFiles = (...gone: Uint8Array[]): Uint8Array =>
      toEntry(toField(1, 8), toMessage(13, toField(1, 4), ...gone, ...kept));
    await writeFiles(toFiles(toWatch(1, device, ino)));
    await mend([process.pid]);
    const changed = toTrees(await read());
    await writeFiles(toFiles());
    expect(changed).toEqual(toTrees(await read()));
  });

  it.each([
    ['of which the last message is cut off', Buffer.concat([Buffer.alloc(8), plainFile]).subarray(0, -1)],
    ['that ends within a size', Buffer.alloc(10)],
    ['with a type that no field has', Buffer.concat([Buffer.alloc(8), toEntry(Buffer.from('2601', 'hex'))])],
  ])('refuses a list of files %s', async (_, bytes) => {
    await writeFile(join(folder, 'files.img'), bytes);
    await expect(mend()).rejects.toMatchObject({ code: 'internal' });
  });
});

/** Returns the device of an open file's mount, which is how the kernel names devices of watches. */
const readMountDevice = async (descriptor: number): Promise<number> => {
  const info = await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8');
  const mountId = /^mnt_id:\s+(\d+)$/m.exec(info)?.[1];
  const mounts = await readFile('/proc/self/mountinfo', 'utf8');
  const [, major, minor] = new RegExp(`^${mountId} \\d+ (\\d+):(\\d+) `, 'm').exec(mounts) ?? [];
  return Number(major) * 2 ** 20 + Number(minor);
};
