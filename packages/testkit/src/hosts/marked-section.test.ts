import { describe, expect, it } from 'vitest';
import { replaceSection } from './marked-section.ts';

describe('a marked section', () => {
  const text = '# Hosts\n\n<!-- a -->\nold\n<!-- /a -->\n\n<!-- a-b -->\n<!-- /a-b -->\nend\n';

  it('is replaced, and everything else stays', () => {
    expect(replaceSection(text, { name: 'a', content: 'new $& text' })).toBe(
      '# Hosts\n\n<!-- a -->\n\nnew $& text\n\n<!-- /a -->\n\n<!-- a-b -->\n<!-- /a-b -->\nend\n',
    );
  });

  it('is the same when it is replaced twice by the same', () => {
    const once = replaceSection(text, { name: 'a-b', content: 'new' });
    expect(replaceSection(once, { name: 'a-b', content: 'new' })).toBe(once);
  });

  it('must be there, once and in order', () => {
    for (const broken of [
      '',
      '<!-- a -->',
      '<!-- /a --><!-- a -->',
      '<!-- a --><!-- /a --><!-- a --><!-- /a -->',
    ])
      expect(() => replaceSection(broken, { name: 'a', content: '' })).toThrow(
        '<!-- a --> and then <!-- /a -->',
      );
  });
});
