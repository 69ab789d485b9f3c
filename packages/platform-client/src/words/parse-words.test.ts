import { describe, expect, it } from 'vitest';
import { parseWords, toText, type WordRules, writeWord } from './parse-words.ts';

const variables: Record<string, string> = {
  SET: 'value',
  EMPTY: '',
  str: 'foobarbaz',
  path: '/a/b/c.tar.gz',
};
const rules = (known: boolean): WordRules => ({
  escape: '\\',
  lookUp: (name) => (known ? (variables[name] ?? null) : undefined),
  refuse: (message) => {
    throw new Error(message);
  },
});
const expand = (text: string): string | undefined =>
  toText(parseWords(text, rules(true), { whole: true })[0] ?? []);

describe('parseWords', () => {
  it.each([
    [`$SET-\${SET}x`, 'value-valuex'],
    [`\${SET:-no} \${EMPTY:-word} \${EMPTY-word} \${UNSET-word}`, 'value word  word'],
    [`\${SET:+yes} \${EMPTY:+yes} \${EMPTY+yes} \${UNSET+yes}.`, 'yes  yes .'],
    [`\${UNSET:-a \${SET} "b  c"}`, 'a value b  c'],
    [`\${SET:?told} \${EMPTY?told}.`, 'value .'],
    [`\${str#f*b} \${str##f*b} \${str#x}`, 'arbaz az foobarbaz'],
    [`\${str%b*} \${str%%b*} \${str%x}`, 'foobar foo foobarbaz'],
    [`\${str/ba/fo} \${str//ba/fo} \${str//ba} \${str/b*r/-}`, 'fooforbaz fooforfoz foorz foo-baz'],
    [`\${path##*/} \${path%/*} \${path#*.} \${path//\\//:}`, 'c.tar.gz /a/b tar.gz :a:b:c.tar.gz'],
    [`\${str#???} \${str#"???"} \${UNSET#a}.`, 'barbaz foobarbaz .'],
    [`\\$SET \\\${SET} '$SET' "\\$SET" "\\n"`, `$SET \${SET} $SET $SET \\n`],
    ['$UNSET$1$@.$', '.$'],
    [`\${UNSET:-{a}}`, '{a}'],
  ])('replaces the variables of %s', (text, expanded) => {
    expect(expand(text)).toBe(expanded);
    // What is not known at first comes to the same when it is known later.
    const [word = []] = parseWords(text, rules(false), { whole: true });
    expect(expand(writeWord(word))).toBe(expanded);
  });

  it('splits at blanks that are not protected', () => {
    const words = parseWords(` a\\ b "c  d"\t'e f'g ""\n\${UNSET:-h i} `, rules(true));
    expect(words.map(toText)).toEqual(['a b', 'c  d', 'e fg', '', 'h i']);
  });

  it('reads a heredoc as a shell does: quotes stay, and a backslash protects few characters and joins lines', () => {
    const [word = []] = parseWords('"$SET" \'$SET\' \\$SET \\\\ \\n \\`\na \\\nb', rules(true), {
      heredoc: true,
    });
    expect(toText(word)).toBe('"value" \'value\' $SET \\ \\n `\na b');
  });

  it.each([
    [`\${`, 'is no variable'],
    [`\${SET`, 'has an operator'],
    [`\${SET:-a`, 'is not closed'],
    [`\${SET!x}`, 'has an operator'],
    [`\${UNSET:?is needed}`, 'UNSET is not set: is needed'],
    ['"a', 'a quote " is not closed'],
    ["'a", "a quote ' is not closed"],
    [`\${A:-`.repeat(60), 'within each other'],
  ])('refuses %s', (text, message) => {
    expect(() => expand(text)).toThrow(message);
  });

  it('bounds what words of strangers can take: their length, and the time of a pattern', () => {
    variables.LONG = 'a'.repeat(100_000);
    expect(() => expand('$LONG$LONG')).toThrow('takes more than 128 KiB');
    expect(() => expand(`\${LONG//a/${'b'.repeat(1_000)}}`)).toThrow('too long');
    expect(() => expand(`\${LONG/*${'a*'.repeat(50)}b/c}`)).toThrow('too long');
    // A search that backtracks would not end.
    variables.MANY = 'a'.repeat(1_000);
    expect(expand(`\${MANY#${'*a'.repeat(50)}b}`)).toBe(variables.MANY);
  });
});
