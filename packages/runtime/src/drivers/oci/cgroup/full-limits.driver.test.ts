import { readdir, readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const MIB = 2 ** 20;
const fixture = useOci({ name: 'full', memory: true });
const { settings, toId } = fixture;
const limits = { ...settings.limits, memoryBytes: 96 * MIB, processCount: 32 };
const spec = { ...settings, limits };
const sleeper = 'setsid sleep 1000 >/dev/null 2>&1 </dev/null &';

const create = (): Promise<Instance> =>
  fixture.runtime.create({ ...spec, id: toId(), rootfs: fixture.rootfs });

/** Starts a Python program that allocates one more unit at each "+", and reports how many it has. */
const startHolder = async (
  instance: Instance,
  { before = '', take, tell }: { before?: string; take: string; tell: string },
): Promise<void> => {
  const program = `cat > /root/holder.py <<'END'
import os, signal, socket
server = socket.create_server(("127.0.0.1", 9000))
held = []
${before}
with open("/root/state", "w") as state: state.write("ready")
while True:
    caller, _ = server.accept()
    if caller.recv(1) == b"+": ${take}
    else: caller.sendall(repr((${tell})).encode())
    caller.close()
END
mkfifo /root/state
setsid sh -c 'python3 /root/holder.py; echo ended > /root/state' > /root/log 2>&1 < /dev/null &
read state < /root/state; echo $state`;
  // The shell starts no process to wait, as the limit may be reached by then.
  expect((await runInside(instance, program)).output).toBe('ready\n');
};

/** Starts no process inside. */
const askHolder = async (instance: Instance, what: '+' | '?'): Promise<string> => {
  const stream = await instance.connect(9000);
  stream.write(what);
  return text(stream);
};

/** The settings of its cgroups and what is used of them, by file, for both versions. */
const readCgroup = async ({ id }: Instance): Promise<Record<string, string>> => {
  const found: Record<string, string> = {};
  for (const tree of ['memory', 'pids', '.'].map((name) => `/sys/fs/cgroup/${name}`)) {
    const parents = await readdir(tree).catch(() => []);
    for (const folder of parents.filter((name) => name.startsWith('skerry-'))) {
      for (const name of await readdir(`${tree}/${folder}/${id}`).catch(() => []))
        if (wanted.includes(name))
          found[name] = (await readFile(`${tree}/${folder}/${id}/${name}`, 'utf8')).trim();
    }
  }
  return found;
};

const kept = [
  'memory.limit_in_bytes',
  'memory.memsw.limit_in_bytes',
  'memory.max',
  'memory.high',
  'pids.max',
];
const used = ['memory.usage_in_bytes', 'memory.current', 'memory.stat'];
const wanted = [...kept, ...used];

const readLimits = async (instance: Instance): Promise<Record<string, string>> =>
  Object.fromEntries(Object.entries(await readCgroup(instance)).filter(([name]) => kept.includes(name)));

/** The memory that cannot be reclaimed. */
const readHeld = async (instance: Instance): Promise<number> => {
  const found = await readCgroup(instance);
  const all = Number(found['memory.usage_in_bytes'] ?? found['memory.current']);
  const cache = [...(found['memory.stat'] ?? '').matchAll(/^(?:in)?active_file (\d+)$/gm)];
  return all - cache.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
};

/** Pauses and resumes `source` that number of times, forks it each time, and calls `check` with both. */
const restoreAgain = async (
  source: Instance,
  { times, check }: { times: number; check: (one: Instance) => Promise<void> },
): Promise<void> => {
  for (let round = 0; round < times; round++) {
    await source.pause({ memory: true });
    await source.resume();
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true, ephemeral: true });
    const fork = await fixture.runtime.create({ ...spec, id: toId(), snapshot });
    try {
      await check(source);
      await check(fork);
    } finally {
      await fork.stop();
      // The fixture does not see it, as no list has it.
      await fixture.runtime.snapshots.delete(snapshot);
    }
  }
};

/**
 * The kernel cannot reclaim what it reads ahead of a program until that has arrived, 2.5 MiB here, and the agent may need
 * memory at that moment.
 */
const FREE_BYTES = 6 * MIB;

/**
 * Starts a program that allocates memory until `FREE_BYTES` are left, and fills the rest with page cache; resolves with
 * what the program reports of it.
 */
const fillMemory = async (source: Instance): Promise<string> => {
  await runInside(
    source,
    `head -c 10000000 /dev/urandom > /root/filler; for i in $(seq 4); do ${sleeper} done`,
  );
  await startHolder(source, {
    before: 'cached = open("/root/filler", "rb", 0)',
    take: 'held.append(bytearray(os.urandom(4096)) * 256)',
    // Reads files that fill the rest, which can be reclaimed.
    tell: `len(held), all(one[:4096] == one[-4096:] for one in held), cached.seek(0),
        sum(len(part) for part in iter(lambda: cached.read(65536), b""))`,
  });
  while ((await readHeld(source)) < limits.memoryBytes - FREE_BYTES) await askHolder(source, '+');
  const held = await askHolder(source, '?');
  expect(held).toMatch(/^\(\d+, True, 0, 10000000\)$/);
  return held;
};

describe('a sandbox that has reached a limit', () => {
  it('is resumed and forked repeatedly where that is memory, and is still ended at its limit', async () => {
    const source = await create();
    const before = await readLimits(source);
    expect(Object.values(before)).toContain(String(limits.memoryBytes));
    const held = await fillMemory(source);
    await restoreAgain(source, {
      times: 3,
      check: async (one) => {
        expect(await readLimits(one)).toEqual(before);
        expect(await askHolder(one, '?')).toBe(held);
      },
    });
    // Less than was free.
    for (let count = 0; count < 10; count++) await askHolder(source, '+').catch(() => '');
    await expect(askHolder(source, '?')).rejects.toMatchObject({ code: 'refused' });
    expect(await source.state()).toBe('running');
  });

  it('is resumed and forked where that is processes', async () => {
    const source = await create();
    const before = await readLimits(source);
    await startHolder(source, {
      before: `def start():
    child = os.fork()
    if child == 0: os.closerange(3, 99); signal.pause()
    return child
try:
    while True: held.append(start())
except BlockingIOError: pass`,
      take: 'held.append(start())',
      tell: 'len(held), all(os.path.exists(f"/proc/{child}") for child in held)',
    });
    const held = await askHolder(source, '?');
    expect(held).toMatch(/^\(\d+, True\)$/);
    await restoreAgain(source, {
      times: 1,
      check: async (one) => {
        expect(await readLimits(one)).toEqual(before);
        expect(await askHolder(one, '?')).toBe(held);
      },
    });
    for (let count = 0; count < 8; count++) await askHolder(source, '+').catch(() => '');
    await expect(askHolder(source, '?')).rejects.toMatchObject({ code: 'refused' });
  });
});

describe('processes that exceed the memory of their sandbox when each has its own copy', () => {
  it('stay paused, and the files can be resumed without them', async () => {
    const source = await create();
    // A process whose parent has ended shares no memory any more after a restore.
    await startHolder(source, {
      before: `shared = bytearray(os.urandom(4096)) * 8192
if os.fork() == 0:
    for i in range(10):
        if os.fork() == 0: os.closerange(3, 99); signal.pause()
    os._exit(0)
os.wait()`,
      take: 'pass',
      tell: 'len(shared)',
    });
    await source.pause({ memory: true });
    await expect(source.resume()).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('more memory'),
    });
    expect(await source.state()).toBe('paused');
    await source.resume({ memory: false });
    expect((await runInside(source, 'cat /root/log; echo files')).output).toBe('files\n');
  });
});
