import type { IsolationLevel } from '@skerry/contract/isolation';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Instance, InstanceOrigin } from '../../runtime.ts';
import { runInside } from '../../suite/client.ts';
import { prepareRunsc } from './gvisor/prepare-runsc.ts';
import type { OciOptions } from './oci.ts';
import { useOci } from './testing/oci-fixture.ts';

const oci = useOci({ name: 'isolation', memory: true });
let runscPath: string;
beforeAll(async () => {
  runscPath = await prepareRunsc({ targetDir: '/var/cache/skerry' });
});

/** Both levels in one runtime, as a server with these options. */
const open = (level: IsolationLevel, more: Partial<OciOptions> = {}): Promise<void> =>
  oci.reopen({ runscPath, keepsMemory: true, level, minimumLevel: 'container', ...more });

const create = (isolation?: IsolationLevel, origin: InstanceOrigin = { rootfs: oci.rootfs }) =>
  oci.runtime.create({ id: oci.toId(), ...origin, ...oci.settings, ...(isolation && { isolation }) });

/** The level that a program inside finds: only the kernel of gVisor has this version. */
const levelInside = async (instance: Instance): Promise<IsolationLevel> =>
  (await runInside(instance, 'uname -r')).output.startsWith('4.4.0') ? 'gvisor' : 'container';

const takeSnapshot = async (source: Instance, memory: boolean): Promise<InstanceOrigin> => {
  const snapshot = oci.toId();
  await source.snapshot({ id: snapshot, memory });
  return { snapshot };
};

describe('levels side by side', () => {
  it.each(['container', 'gvisor'] as const)('are chosen per sandbox, by default %s', async (level) => {
    await open(level);
    const all = await Promise.all([create(), create('container'), create('gvisor')]);
    expect(await Promise.all(all.map(levelInside))).toEqual([level, 'container', 'gvisor']);
  });

  it.each(['container', 'gvisor'] as const)('keep files and processes of a sandbox of %s', async (level) => {
    await open(level === 'container' ? 'gvisor' : 'container');
    const source = await create(level);
    await runInside(source, 'sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > /root/pid');
    const copies = [await takeSnapshot(source, true), await takeSnapshot(source, false)];
    await source.pause({ memory: true });
    await open(level === 'container' ? 'gvisor' : 'container');
    const resumed = await oci.runtime.get(source.id);
    await resumed.resume({ memory: true });
    const [whole, files] = await Promise.all(copies.map((copy) => create(undefined, copy)));
    if (whole === undefined || files === undefined) throw new Error('no copies');
    for (const one of [resumed, whole, files]) expect(await levelInside(one)).toBe(level);
    for (const one of [resumed, whole])
      expect((await runInside(one, 'kill -0 $(cat /root/pid) && echo alive')).output).toBe('alive\n');
  });
});

describe('a snapshot', () => {
  it('starts at a higher level where that is asked for, unless it has processes', async () => {
    await open('container');
    const source = await create();
    const files = await takeSnapshot(source, false);
    expect(await levelInside(await create('gvisor', files))).toBe('gvisor');
    const whole = await takeSnapshot(source, true);
    await expect(create('gvisor', whole)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('is of level container, and cannot be restored at level gvisor'),
    });
  });

  it('never starts below its level, or the minimum of the host', async () => {
    await open('container');
    const [own, other] = await Promise.all([create(), create('gvisor')]);
    const [ofOwn, ofOther] = await Promise.all([takeSnapshot(own, false), takeSnapshot(other, false)]);
    expect(await levelInside(await create('container', ofOther))).toBe('gvisor');
    await own.pause({ memory: true });
    await open('gvisor', { minimumLevel: 'gvisor' });
    const resumed = await oci.runtime.get(own.id);
    await expect(resumed.resume()).rejects.toMatchObject({
      code: 'unsupported',
      message: `the memory of sandbox ${own.id} is of level container, and cannot be restored at level gvisor`,
    });
    await resumed.resume({ memory: false });
    const all = [resumed, await create('container', ofOwn), await create('container')];
    for (const one of all) expect(await levelInside(one)).toBe('gvisor');
    for (const one of all) expect(one.isolation).toBe('gvisor');
  });
});

it('a host without the level refuses a sandbox and a snapshot of it', async () => {
  await open('gvisor');
  const { snapshot } = (await takeSnapshot(await create(), false)) as { snapshot: string };
  await oci.reopen({ runscPath: undefined });
  const message = expect.stringMatching(/ is of level gvisor, which this host does not run$/);
  await expect(create('gvisor')).rejects.toMatchObject({ code: 'unsupported', message });
  await expect(create(undefined, { snapshot })).rejects.toMatchObject({
    code: 'unsupported',
    message: `snapshot ${snapshot} is of level gvisor, which this host does not run`,
  });
});
