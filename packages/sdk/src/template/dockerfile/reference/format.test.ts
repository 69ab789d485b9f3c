import { run, testReference } from './test-reference.ts';

testReference('the format', [
  {
    says: 'the names of instructions may have small letters',
    file: 'from image\nrun true',
    steps: [run('true')],
  },
  { says: 'instructions run in their order', file: 'RUN one\nRUN two', steps: [run('one'), run('two')] },
  { says: 'a file begins with FROM', file: '# nothing\nRUN true', refused: [2, 'before FROM'] },
  { says: 'comments and ARG may come before FROM', file: '# why\n\nARG V=1\n# more\nFROM a:$V', steps: [] },
  {
    says: 'a line that begins with "#" is a comment',
    file: 'FROM a\n# RUN no\nRUN yes',
    steps: [run('yes')],
  },
  { says: '"#" elsewhere is an argument', file: "RUN echo 'some # of'", steps: [run("echo 'some # of'")] },
  {
    says: 'comments within a command are left out',
    file: 'RUN echo hello \\\n# comment\nworld',
    steps: [run('echo hello world')],
  },
  {
    says: 'a comment is not continued',
    file: 'RUN echo a \\\n# comment \\\n  b\nRUN c',
    steps: [run('echo a   b'), run('c')],
  },
  {
    says: 'blanks before comments and instructions do not count',
    file: 'FROM a\n    # comment\n    RUN echo hello\nRUN echo world',
    steps: [run('echo hello'), run('echo world')],
  },
  {
    says: 'blanks in arguments count',
    file: 'RUN echo "\\\n     hello\\\n     world"',
    steps: [run('echo "     hello     world"')],
  },
  { says: 'an unknown instruction is an error', file: 'VERSION 1', refused: [2, 'VERSION is not supported'] },
  { says: 'empty lines within a command are left out', file: 'RUN a \\\n\n  b', steps: [run('a   b')] },
  {
    says: 'lines may end as on Windows, and a mark of the byte order may come first',
    file: '\uFEFFFROM a\r\nRUN b \\\r\n c\r\n',
    steps: [run('b  c')],
  },
]);

testReference('parser directives', [
  { says: 'a directive may be there once', file: '# escape=`\n# escape=`\nFROM a', refused: [2, 'twice'] },
  {
    says: 'after a comment they are comments',
    file: '# about\n# escape=`\nFROM a\nRUN b \\\n c',
    steps: [run('b  c')],
  },
  {
    says: 'after an unknown one they are comments',
    file: '# unknown=x\n# escape=`\nFROM a\nRUN b \\\n c',
    steps: [run('b  c')],
  },
  {
    says: 'after an instruction they are comments',
    file: 'FROM a\n# escape=`\nRUN b \\\n c',
    steps: [run('b  c')],
  },
  {
    says: 'their names may have capitals, and blanks around them',
    file: '#\t eScApE = ` \nFROM a\nRUN b `\n c',
    steps: [run('b  c')],
  },
  {
    says: 'they are not continued',
    file: '# esc \\\nape=`\nFROM a',
    refused: [2, 'APE=` must not stand before FROM'],
  },
  {
    says: 'syntax names a version, and nothing changes',
    file: '# syntax=docker/dockerfile:1.7-labs\nFROM a\nRUN b',
    steps: [run('b')],
  },
  {
    says: 'check is about warnings, and nothing changes',
    file: '# check=skip=JSONArgsRecommended;error=true\nFROM a\nRUN b',
    steps: [run('b')],
  },
  { says: 'escape is a backslash or a backtick', file: '# escape=x\nFROM a', refused: [1, 'escape must be'] },
  {
    says: 'with a backtick, a backslash is a character like others',
    file: '# escape=`\nFROM a\nCOPY testfile.txt c:\\\nRUN dir c:\\',
    steps: [{ src: 'testfile.txt', dest: 'c:\\\\' }, run('dir c:\\')],
  },
  {
    says: 'in RUN nothing is escaped but the end of a line',
    file: 'RUN a\\b \\$c \\\n d',
    steps: [run('a\\b \\$c  d')],
  },
  {
    // The example of the reference says otherwise, for older builders.
    says: 'an escape character after another one is a character, also at the end of a line',
    file: 'RUN echo \\\\\nRUN b',
    steps: [run('echo \\\\'), run('b')],
  },
]);

testReference('the shell form and the exec form', [
  {
    says: 'the exec form is a JSON array of words, without a shell',
    file: 'RUN ["a", "b c"]',
    steps: [{ shell: ['a'], args: ['b c'] }],
  },
  {
    says: 'single quotes make no JSON: that is the shell form',
    file: "RUN ['a', 'b']",
    steps: [run("['a', 'b']")],
  },
  {
    says: 'a backslash that JSON does not know makes the shell form',
    file: 'RUN ["c:\\windows"]',
    steps: [run('["c:\\windows"]')],
  },
  {
    says: 'doubled backslashes are JSON',
    file: 'RUN ["c:\\\\windows"]',
    steps: [{ shell: [], args: ['c:\\windows'] }],
  },
  {
    says: 'the exec form replaces no variables',
    file: 'ENV A=1\nRUN ["echo", "$A"]',
    steps: [{}, { shell: ['echo'], args: ['$A'] }],
  },
  {
    says: 'the shell form leaves variables to the shell',
    file: 'ENV A=1\nRUN echo $A',
    steps: [{}, run('echo $A')],
  },
  {
    says: 'the shell form may be continued on the next line',
    file: 'RUN source a && \\\necho b',
    steps: [run('source a && echo b')],
  },
  {
    says: 'a heredoc is a shell form of several lines',
    file: 'RUN <<EOF\n  source a\n  echo b\nEOF',
    steps: [run('  source a\n  echo b\n')],
  },
  {
    says: 'SHELL replaces the shell of later commands',
    file: 'SHELL ["/bin/bash", "-c"]\nRUN a',
    steps: [{ shell: ['/bin/bash', '-c'], args: ['a'] }],
  },
]);

testReference('SHELL', [
  { says: 'it is JSON', file: 'SHELL /bin/bash', refused: [2, 'JSON'] },
  { says: 'the default is /bin/sh -c', file: 'RUN a', steps: [run('a')] },
  {
    says: 'each replaces those before it',
    file: 'SHELL ["x"]\nRUN a\nSHELL ["y", "-c"]\nRUN b',
    steps: [{ shell: ['x'] }, { shell: ['y', '-c'] }],
  },
  {
    says: 'it holds for CMD and ENTRYPOINT',
    file: 'SHELL ["x", "-c"]\nENTRYPOINT a\nCMD b',
    has: { entrypoint: ['x', '-c', 'a'], command: ['x', '-c', 'b'] },
  },
]);

testReference('LABEL, MAINTAINER and STOPSIGNAL', [
  {
    says: 'labels may have quotes, continuations and variables',
    file: 'LABEL a="b c" d=$E \\\n  "f.g"="h"',
    steps: [],
  },
  { says: 'labels do not change the files', file: 'LABEL description="a \\\nb"\nRUN c', steps: [run('c')] },
  { says: 'the author does not change the files', file: 'MAINTAINER author <a@b.example>', steps: [] },
  { says: 'a signal to stop does not change the files', file: 'STOPSIGNAL SIGINT\nSTOPSIGNAL 9', steps: [] },
]);
