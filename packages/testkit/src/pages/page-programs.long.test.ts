import { describePagePrograms } from './describe-page-programs.ts';

describePagePrograms('slow');
