import { prepareRunsc } from '../../prepare-runsc.ts';
import { runtimeSuite } from '../../suite.ts';
import { createOci } from './oci.ts';

runtimeSuite('the OCI driver with runsc', async (context) => {
  const runscPath = await prepareRunsc({ targetDir: '/var/cache/skerry' });
  return createOci({ ...context, runscPath });
});
