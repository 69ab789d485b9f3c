import { runtimeSuite } from '../../../suite/suite.ts';
import { createOci } from '../oci.ts';
import { prepareRunsc } from './prepare-runsc.ts';

runtimeSuite(
  'the OCI driver with runsc',
  async (context) => {
    const runscPath = await prepareRunsc({ targetDir: '/var/cache/skerry' });
    return createOci({ ...context, runscPath });
  },
  { form: 'short' },
);
