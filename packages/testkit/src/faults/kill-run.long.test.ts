import { it } from 'vitest';
import { expectCleanKills } from './expect-clean-kills.ts';

it('a kill of server, helper, CRIU or crun at a step of an operation loses nothing, leaves nothing, and a retry works', () =>
  expectCleanKills('sandboxes', { seed: 20_261_120 }));
