import { runtimeSuite } from '../../suite/suite.ts';
import { createOci } from './oci.ts';

runtimeSuite('the OCI driver', async (context) => createOci(context));
