import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testedClients } from './clients.ts';
import { driveClients } from './drive-clients.ts';

driveClients(testedClients.filter(({ generation }) => generation === 'newest'));

describe('the releases driven here', () => {
  it.each(['README.md', 'docs/e2b-clients.md'])('are those that %s names', (path) => {
    const page = readFileSync(join(import.meta.dirname, '../../../..', path), 'utf8').replaceAll('\n', ' ');
    const [oldest, middle, newest] = testedClients.map(({ version }) => version);
    expect(page).toContain(`${oldest}, ${middle} and ${newest}`);
  });
});
