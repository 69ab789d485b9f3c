import { startHelper } from './helper.ts';
import { runtimeSuite } from './suite.ts';

runtimeSuite('the OCI driver in the helper', startHelper);
