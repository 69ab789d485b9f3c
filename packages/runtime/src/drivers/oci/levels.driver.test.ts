import { expect, it } from 'vitest';
import { runInside } from '../../suite/client.ts';
import { prepareRunsc } from './gvisor/prepare-runsc.ts';
import { useOci } from './testing/oci-fixture.ts';

const oci = useOci({ name: 'isolation' });

it('a snapshot of a sandbox at level gvisor never starts at level container', async () => {
  const runscPath = await prepareRunsc({ targetDir: '/var/cache/skerry' });
  await oci.reopen({ runscPath });
  const source = await oci.create();
  await runInside(source, 'echo kept > /root/file');
  const snapshot = oci.toId();
  await source.snapshot({ id: snapshot, memory: false });
  await oci.reopen({ runscPath: undefined });
  await expect(oci.create({ snapshot })).rejects.toMatchObject({
    code: 'unsupported',
    message: `snapshot ${snapshot} is of level gvisor, which this host does not run`,
  });
  await oci.reopen({ runscPath });
  const copy = await oci.create({ snapshot });
  expect((await runInside(copy, 'cat /root/file')).output).toBe('kept\n');
});
