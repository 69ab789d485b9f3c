import { runtimeSuite } from '../../suite.ts';
import { createOci } from './oci.ts';

runtimeSuite('the OCI driver with runc', async (context) => createOci({ ...context, ociRuntime: 'runc' }));
