import { beforeAll, describe, expect, it } from 'vitest';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';
import { prepareRunsc } from './prepare-runsc.ts';

const oci = useOci({ name: 'level' });
let runscPath: string;
beforeAll(async () => {
  runscPath = await prepareRunsc({ targetDir: '/var/cache/skerry' });
});

describe('the level of a sandbox', () => {
  it('may rise with a resume, and never falls again', async () => {
    const { id } = await oci.create();
    const before = await oci.runtime.get(id);
    await runInside(before, 'echo kept > /root/file');
    await before.pause({ memory: false });

    await oci.reopen({ runscPath });
    expect(oci.runtime.features.level).toBe('gvisor');
    const risen = await oci.runtime.get(id);
    await risen.resume();
    expect((await runInside(risen, 'cat /root/file; uname -r')).output).toMatch(/^kept\n4\.4\.0/);

    await oci.reopen();
    expect(oci.runtime.features.level).toBe('container');
    const running = await oci.runtime.get(id);
    expect((await runInside(running, 'uname -r')).output).toMatch(/^4\.4\.0/);
    await running.pause({ memory: false });
    await expect(running.resume()).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('level gvisor'),
    });
    expect(await running.state()).toBe('paused');
    await running.snapshot({ id: 'risen', memory: false });
    await expect(
      oci.runtime.snapshots.exportImage('risen', { path: `${oci.base}/image.ext4` }),
    ).rejects.toMatchObject({ code: 'unsupported', message: expect.stringContaining('level gvisor') });

    await oci.reopen({ runscPath });
    const again = await oci.runtime.get(id);
    await again.resume();
    expect((await runInside(again, 'cat /root/file')).output).toBe('kept\n');
  });
});
