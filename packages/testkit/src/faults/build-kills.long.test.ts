import { it } from 'vitest';
import { expectCleanKills } from './expect-clean-kills.ts';

it('a build whose server or helper is killed ends with a reason, leaves nothing, and the next has what it made', () =>
  expectCleanKills('builds', { seed: 20_261_123 }));
