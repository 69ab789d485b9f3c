import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { Template } from '@skerry/sdk/template';
import { describe, expect, it } from 'vitest';
import { findReadyMade, readyMadeNames } from './ready-made.ts';

describe('the ready-made templates', () => {
  it('are those of the folder', () => {
    const folder = dirname(dirname(findReadyMade('base')));
    const found = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(found.map(({ name }) => name).toSorted()).toEqual(readyMadeNames);
  });

  const others = readyMadeNames.filter((name) => name !== 'base-minimal');
  it.each(others)('%s begins with the template of every installation', (name) => {
    expect(Template.fromDockerfile(findReadyMade(name)).toJSON()).toMatchObject({ fromImage: 'e2bdev/base' });
  });
});
