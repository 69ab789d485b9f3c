import { runtimeSuite } from '../suite/suite.ts';
import { startHelper } from './helper.ts';

runtimeSuite('the OCI driver in the helper process', (context) => startHelper(context));
