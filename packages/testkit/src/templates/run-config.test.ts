import { describeRunConfigs } from './run-config-suite.ts';

describeRunConfigs('container');
