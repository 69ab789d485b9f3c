import { expect } from 'vitest';
import { testReference } from './test-reference.ts';

/** The value of the last ENV. */
const env = (value: string, ...before: string[]): object[] => [
  ...before.map(() => ({})),
  { type: 'ENV', args: ['X', value] },
];
const one = (says: string, value: string, expected: string) => ({
  says,
  file: `ENV SET=value EMPTY="" str=foobarbaz\nARG UNSET\nENV X=${value}`,
  steps: env(expected, 'ENV'),
});

testReference('environment replacement', [
  one('a variable has braces or none', `$SET-\${SET}_x`, 'value-value_x'),
  one('":-" gives the word for what is unset or empty', `\${SET:-w}\${EMPTY:-w}\${UNSET:-w}`, 'valueww'),
  one('"-" gives the word for what is unset', `\${SET-w}\${EMPTY-w}\${UNSET-w}`, 'valuew'),
  one('":+" gives the word for what is set and not empty', `\${SET:+w}\${EMPTY:+w}\${UNSET:+w}`, 'w'),
  one('"+" gives the word for what is set', `\${SET+w}\${EMPTY+w}\${UNSET+w}`, 'ww'),
  one('"#" removes the shortest beginning that matches', `\${str#f*b}`, 'arbaz'),
  one('"##" removes the longest beginning that matches', `\${str##f*b}`, 'az'),
  one('"%" removes the shortest end that matches', `\${str%b*}`, 'foobar'),
  one('"%%" removes the longest end that matches', `\${str%%b*}`, 'foo'),
  one('"/" replaces the first match', `\${str/ba/fo}`, 'fooforbaz'),
  one('"//" replaces all matches', `\${str//ba/fo}`, 'fooforfoz'),
  one('a word may have variables', `\${UNSET:-\${EMPTY:-$SET}}`, 'value'),
  one(
    '"?" in a pattern is any character, and a backslash makes it one',
    `\${str#???}\${SET#\\?}`,
    'barbazvalue',
  ),
  one('a backslash before a variable keeps it', `\\$SET\\\${SET}`, `\\$SET\\\${SET\\}`),
  one('single quotes keep it', "'$SET'", '\\$SET'),
  one('double quotes do not', '"$SET and \\$SET"', 'value and \\$SET'),
  { says: 'an operator that nothing knows is an error', file: `ENV A=\${B!x}`, refused: [2, 'operator'] },
  {
    says: '":?" is an error for what is unset',
    file: `ARG B\nENV A=\${B:?is needed}`,
    refused: [3, 'B is not set: is needed'],
  },
  { says: 'a variable that is not closed is an error', file: `ENV A=\${B`, refused: [2, `\${B`] },
  {
    says: 'WORKDIR, ADD, COPY, USER, VOLUME and EXPOSE replace them',
    file: `ENV F=/bar P=80 U=me\nWORKDIR \${F}\nADD . $F\nCOPY \\$F /quux\nCOPY $F /q\nUSER $U\nVOLUME $F\nEXPOSE $P`,
    steps: [
      {},
      { type: 'WORKDIR', args: ['/bar'] },
      { src: '.', dest: '/bar' },
      { src: '$F', dest: '/quux' },
      { src: 'bar', dest: '/q' },
      { type: 'USER', args: ['me'] },
      { type: 'VOLUME', args: ['/bar'] },
    ],
    has: { exposedPorts: [80] },
  },
  {
    says: 'an instruction has the values from before it',
    file: 'ENV abc=hello\nENV abc=bye def=$abc\nENV ghi=$abc',
    steps: [{ args: ['abc', 'hello'] }, { args: ['abc', 'bye', 'def', 'hello'] }, { args: ['ghi', 'bye'] }],
  },
  {
    says: 'variables of the image are replaced by the build, with their operators',
    file: `ENV A=\${B:-$C} D=\${E%%.*}\nWORKDIR $F\nUSER \${G}\nVOLUME $H\nCOPY --chown=$I --chmod=$J a $K`,
    steps: [
      { args: ['A', `\${B:-\${C}}`, 'D', `\${E%%.*}`], dockerfile: true },
      { args: [`\${F}`], dockerfile: true },
      { args: [`\${G}`], dockerfile: true },
      { args: [`\${H}`], dockerfile: true },
      { src: 'a', dest: `\${K}`, user: `\${I}`, mode: `\${J}` },
    ],
  },
  {
    says: 'what the client reads itself needs a value that the file knows',
    file: 'COPY $A /b',
    refused: [2, 'declare it with ARG or ENV before'],
  },
  {
    says: 'the build replaces variables of the image in every instruction',
    shownBy: ['dockerfile-instructions.test.ts', 'knows the variables of the image in every instruction'],
  },
]);

testReference('ENV', [
  {
    says: 'a value may have quotes and backslashes for blanks',
    file: 'ENV A="John Doe"\nENV B=Rex\\ The\\ Dog\nENV C=fluffy',
    steps: [{ args: ['A', 'John Doe'] }, { args: ['B', 'Rex The Dog'] }, { args: ['C', 'fluffy'] }],
  },
  {
    says: 'one may set several',
    file: 'ENV A="John Doe" B=Rex\\ The\\ Dog \\\n    C=fluffy',
    steps: [{ args: ['A', 'John Doe', 'B', 'Rex The Dog', 'C', 'fluffy'] }],
  },
  {
    says: 'the form without "=" sets one variable to the rest',
    file: 'ENV ONE TWO= THREE=world',
    steps: [{ args: ['ONE', 'TWO= THREE=world'] }],
  },
  {
    says: 'a stage has those of the stage that it continues',
    file: 'FROM a AS b\nENV A=1\nFROM b\nCOPY $A /',
    steps: [{ src: '1' }],
  },
  { says: 'a name begins with a letter', file: 'ENV 1A=b', refused: [2, 'no name of a variable'] },
  { says: 'a quote is closed', file: 'ENV A="b', refused: [2, 'not closed'] },
  {
    says: 'what looks like a flag is a value',
    file: 'ENV OPTS --max-old=1',
    steps: [{ args: ['OPTS', '--max-old=1'] }],
  },
  {
    says: 'the first one knows the default PATH',
    shownBy: ['dockerfile-instructions.test.ts', 'knows in the first step what a command would see'],
  },
]);

testReference('ARG', [
  {
    says: 'one may declare several, with a value or none',
    file: 'ARG user1 buildno=1',
    steps: [{ type: 'ARG', args: ['buildno', '1'] }],
  },
  {
    says: 'a given value replaces the default',
    file: 'ARG a=1\nCOPY $a /',
    options: { buildArgs: { a: '2' } },
    steps: [{ args: ['a', '2'] }, { src: '2' }],
  },
  {
    says: 'it holds from its line on',
    file: `USER \${username:-some_user}\nARG username\nUSER $username`,
    options: { buildArgs: { username: 'what_user' } },
    steps: [{ args: [`\${username:-some_user}`] }, { type: 'ARG' }, { args: ['what_user'] }],
  },
  {
    says: 'a stage has those of the stage that it continues',
    file: 'FROM a AS b\nARG A=1\nFROM b\nCOPY $A /',
    steps: [{ src: '1' }],
  },
  { says: 'another stage has not', file: 'FROM a AS b\nARG A=1\nFROM c\nCOPY $A /', refused: [4, '$A'] },
  {
    says: 'ENV hides it',
    file: 'ARG V\nENV V=v1.0.0\nCOPY $V /',
    options: { buildArgs: { V: 'v2' } },
    steps: [{ args: ['V', 'v2'] }, {}, { src: 'v1.0.0' }],
  },
  { says: 'ENV may keep its value', file: `ARG V\nENV V=\${V:-v1}`, steps: [{ args: ['V', 'v1'] }] },
  {
    says: 'a comment at its end is names without values, before FROM too',
    file: 'ARG V=1 # as of 2.0, e.g. 1\nFROM a:$V\nARG API  # e.g. 21\nARG B=2 # two\nCOPY $B /',
    options: { buildArgs: { API: '30' } },
    steps: [{ args: ['API', '30'] }, { args: ['B', '2'] }, { src: '2' }],
  },
  {
    says: 'a value in such a comment is one of a name, which must be right',
    file: 'ARG API # x=1\nARG # e.g.=21',
    refused: [3, '"e.g." is no name of a variable'],
  },
  {
    says: 'proxies need no ARG',
    file: 'RUN a',
    options: { buildArgs: { HTTPS_PROXY: 'p' } },
    steps: [{ type: 'ARG', args: ['HTTPS_PROXY', 'p'] }, {}],
  },
  {
    says: 'platform arguments are those of the build, where ARG names them',
    file: 'ARG TARGETPLATFORM TARGETOS TARGETARCH TARGETVARIANT\nARG BUILDPLATFORM BUILDOS BUILDARCH',
    steps: ['linux/amd64', 'linux', 'amd64', '', 'linux/amd64', 'linux', 'amd64'].map((value) => ({
      args: [expect.any(String), value],
    })),
    has: { platform: 'linux/amd64' },
  },
  {
    says: 'a default of the file goes before that of the platform',
    file: 'ARG TARGETARCH=mine',
    steps: [{ args: ['TARGETARCH', 'mine'] }],
  },
  {
    says: 'they are global, and not known in a stage without ARG',
    file: 'RUN echo $TARGETARCH',
    steps: [{ type: 'RUN' }],
    has: {},
  },
]);
