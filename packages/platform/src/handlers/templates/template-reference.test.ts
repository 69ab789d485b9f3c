import { describe, expect, it } from 'vitest';
import { parseNewName, parseTemplateReference, requireOwnTeam } from './template-reference.ts';

const parse = (text: string) => parseTemplateReference('body.templateID', text);

describe('parseTemplateReference', () => {
  it('parses namespace, name and tag, trimmed and in lower case', () => {
    expect(parse(' Base ')).toEqual({ name: 'base' });
    expect(parse('base:Default')).toEqual({ name: 'base', tag: 'default' });
    expect(parse('team/data-science:v2.1')).toEqual({ namespace: 'team', name: 'data-science', tag: 'v2.1' });
  });

  it('parses a UUID in place of a tag as a build id', () => {
    const buildId = '0b0f6a9e6a3f4f0e9a533f5f0a5c8f10';
    expect(parse('app:0B0F6A9E-6a3f-4f0e-9a53-3f5f0a5c8f10')).toEqual({ name: 'app', buildId });
    expect(parse(`app:${buildId}`)).toEqual({ name: 'app', tag: buildId });
  });

  for (const text of ['', ':x', 'name:', 'a/b/c', 'a b', 'a:b:c', '../base', 'é']) {
    it(`refuses "${text}" and names the field`, () => {
      expect(() => parse(text)).toThrow('body.templateID');
    });
  }
});

describe('parseNewName', () => {
  it('refuses a build id as a tag, and the namespace of another team', () => {
    expect(parseNewName('body.name', 'local/app', 'local')).toEqual({ name: 'app', tag: 'default' });
    expect(() => parseNewName('body.name', 'app:0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10', 'local')).toThrow(
      'UUID',
    );
    expect(() => parseNewName('body.name', 'other/app', 'local')).toThrow('body.name');
  });
});

describe('requireOwnTeam', () => {
  it('accepts no team and the own one, and refuses another with the name of the field', () => {
    for (const team of [undefined, 'local']) requireOwnTeam('body.teamID', team, 'local');
    expect(() => requireOwnTeam('body.teamID', 'other', 'local')).toThrow('body.teamID');
  });
});
