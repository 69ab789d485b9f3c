import { runtimeSuite } from '../../suite/suite.ts';
import { createOci } from './oci.ts';

runtimeSuite('the OCI driver with runc', async (context) => createOci({ ...context, ociRuntime: 'runc' }), {
  letsThrough: {
    'read the boot id of the host': 'runc mounts nothing below /proc, and the id opens nothing',
  },
});
