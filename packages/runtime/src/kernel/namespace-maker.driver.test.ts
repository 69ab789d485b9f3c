import { readdir, readFile, readlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createNamespaceMaker } from './namespace-maker.ts';

const isAlive = async (pid: number): Promise<boolean> => (await readdir('/proc')).includes(String(pid));
const ownerOf = async (pid: number): Promise<string | undefined> =>
  /^Uid:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];

describe('a maker of user namespaces', () => {
  it('makes all namespaces that are requested at once, each with its owner, and leaves no process behind', async () => {
    const maker = createNamespaceMaker();
    const owners = Array.from({ length: 20 }, (_, index) => 900_000_000 + index);
    const pids = await Promise.all(owners.map((owner) => maker.make({ owner })));
    const namespaces = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/ns/user`)));
    const own = await readlink('/proc/self/ns/user');
    expect(new Set([own, ...namespaces]).size).toBe(21);
    expect(await Promise.all(pids.map(ownerOf))).toEqual(owners.map(String));
    for (const pid of pids) maker.end(pid);
    await expect.poll(async () => (await Promise.all(pids.map(isAlive))).includes(true)).toBe(false);
  });

  it('makes a namespace that belongs to this process when no owner is given', async () => {
    const maker = createNamespaceMaker();
    const pid = await maker.make({});
    expect(await ownerOf(pid)).toBe(String(process.getuid?.()));
    expect(await readlink(`/proc/${pid}/ns/user`)).not.toBe(await readlink('/proc/self/ns/user'));
    maker.end(pid);
  });

  it('limits the processes in a namespace that belongs to this process', async () => {
    const maker = createNamespaceMaker();
    const pid = await maker.make({ processCount: 5 });
    expect(await ownerOf(pid)).toBe(String(process.getuid?.()));
    expect(await readFile(`/proc/${pid}/limits`, 'utf8')).toMatch(/^Max processes +5 +5 /m);
    maker.end(pid);
  });

  it('fails only the request that cannot be met, and none that was made at the same time', async () => {
    const maker = createNamespaceMaker();
    const asked = [1, Number.NaN, 2, 3].map((owner) => maker.make({ owner: 900_000_000 + owner }));
    const made = await Promise.allSettled(asked);
    expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    for (const one of made) if (one.status === 'fulfilled') maker.end(one.value);
  });

  it('rejects with the reason when no namespace can be made, and makes others afterwards', async () => {
    const maker = createNamespaceMaker();
    await expect(maker.make({ owner: Number.NaN })).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('setpriv'),
    });
    const pid = await maker.make({ owner: 900_000_000 });
    expect(await isAlive(pid)).toBe(true);
    maker.end(pid);
  });
});
