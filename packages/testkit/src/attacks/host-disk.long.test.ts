import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect } from 'vitest';
import { createSmallDisk, type SmallDisk } from '../faults/small-disk.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { atEachLevelAlone } from './attack.ts';

const MIB = 2 ** 20;

atEachLevelAlone(({ level, attack }) => {
  let disk: SmallDisk;
  let stack: Stack;
  beforeAll(async () => {
    disk = createSmallDisk(600 * MIB);
    stack = await startStack({ dataDir: join(disk.path, 'data'), args: ['--isolation', level] });
  });
  afterAll(async () => {
    await stack?.down();
    disk?.[Symbol.dispose]();
  });

  attack(
    'filling the disk of the host, on which all disks of sandboxes are sparse files',
    'a reserve, below which nothing begins',
    async () => {
      const create = (): Promise<Sandbox> => Sandbox.create({ ...stack.connection, timeoutMs: 300_000 });
      const [filler, bystander] = [await create(), await create()];
      await bystander.files.write('kept', 'here');
      await bystander.commands.run('sync');
      // Up to the reserve of a twentieth, and below it.
      disk.fill(20 * MIB);
      for (const act of [create, () => bystander.createSnapshot(), () => bystander.fork()])
        await expect(act()).rejects.toMatchObject({ code: 'unavailable' });
      expect(stack.log()).toContain('less than the reserve of 2');
      await bystander.pause();
      await expect(Sandbox.connect(bystander.sandboxId, stack.connection)).rejects.toMatchObject({
        code: 'unavailable',
      });
      // What is inside can still be removed, which makes room.
      await filler.commands.run('head -c 100000000 /dev/urandom > big; sync; true');
      expect(await filler.kill()).toBe(true);
      disk.drain();
      const resumed = await Sandbox.connect(bystander.sandboxId, stack.connection);
      expect(await resumed.files.read('kept')).toBe('here');
    },
  );
});
