import { describe, expect, it } from 'vitest';
import { parseTemplateReference } from './template-reference.ts';

const parse = (text: string) => parseTemplateReference('body.templateID', text);

describe('parseTemplateReference', () => {
  it('parses namespace, name and tag, trimmed and in lower case', () => {
    expect(parse(' Base ')).toEqual({ name: 'base' });
    expect(parse('base:Default')).toEqual({ name: 'base', tag: 'default' });
    expect(parse('team/data-science:v2.1')).toEqual({ namespace: 'team', name: 'data-science', tag: 'v2.1' });
  });

  for (const text of ['', ':x', 'name:', 'a/b/c', 'a b', 'a:b:c', '../base', 'é']) {
    it(`refuses "${text}" and names the field`, () => {
      expect(() => parse(text)).toThrow('body.templateID');
    });
  }
});
