import { expect } from 'vitest';
import { run, testReference } from './test-reference.ts';

const file = (content: string, more: object = {}): object => ({ type: 'COPY', content, ...more });

testReference('here-documents', [
  {
    says: 'the next lines to the delimiter belong to the instruction',
    file: 'RUN <<EOF\nRUN no\n# stays\nEOF\nRUN b',
    steps: [run('RUN no\n# stays\n'), run('b')],
  },
  {
    says: 'a command may name another program',
    file: 'RUN <<EOT bash\n  set -ex\nEOT',
    steps: [run('<<EOT bash\n  set -ex\nEOT\n')],
  },
  {
    says: 'without a command it is the script of the default shell',
    file: 'SHELL ["/bin/bash", "-c"]\nRUN <<EOT\n  mkdir -p foo\nEOT',
    steps: [{ shell: ['/bin/bash', '-c'], args: ['  mkdir -p foo\n'] }],
  },
  {
    says: 'its first line may name an interpreter',
    file: 'RUN <<EOT\n#!/usr/bin/env python\nprint("hello")\nEOT',
    steps: [{ args: [expect.stringContaining('#!/usr/bin/env python\nprint("hello")\n')] }],
  },
  {
    says: 'a command may have several',
    file: 'RUN <<FILE1 cat > a && <<FILE2 cat > b\nfirst\nFILE1\nsecond\nFILE2',
    steps: [run('<<FILE1 cat > a && <<FILE2 cat > b\nfirst\nFILE1\nsecond\nFILE2\n')],
  },
  {
    says: 'the line that begins one may be continued',
    file: 'RUN cat <<EOF > a && \\\n  echo b\ntext\nEOF\nRUN c',
    steps: [run('cat <<EOF > a &&   echo b\ntext\nEOF\n'), run('c')],
  },
  {
    says: 'it may be for another descriptor',
    file: 'RUN cat 3<<EOF <&3\ntext\nEOF',
    steps: [run('cat 3<<EOF <&3\ntext\nEOF\n')],
  },
  {
    says: 'in RUN the shell reads variables, escapes and continuations',
    file: 'RUN <<EOF\necho "$A" \\$B \\\n c\nEOF',
    steps: [run('echo "$A" \\$B \\\n c\n')],
  },
  {
    says: '<< within quotes begins none',
    file: 'RUN echo "<<EOF" \'<<EOF\'\nRUN b',
    steps: [run('echo "<<EOF" \'<<EOF\''), run('b')],
  },
  {
    says: '<< within another word begins none',
    file: 'RUN echo $((1<<2)) a<<b x=1<<2\nRUN b',
    steps: [run('echo $((1<<2)) a<<b x=1<<2'), run('b')],
  },
  { says: '<<< begins none', file: 'RUN cat <<<text\nRUN b', steps: [run('cat <<<text'), run('b')] },
  {
    says: 'the exec form has none',
    file: 'RUN ["cat", "<<EOF"]\nRUN b',
    steps: [{ shell: ['cat'], args: ['<<EOF'] }, run('b')],
  },
  { says: 'one without an end is an error', file: 'RUN <<EOF\necho', refused: [2, 'heredoc EOF has no end'] },
  {
    says: 'other instructions have none',
    file: 'CMD cat <<EOF\nRUN b',
    has: { command: ['/bin/sh', '-c', 'cat <<EOF'] },
  },
  {
    says: 'COPY writes it to a file',
    file: 'COPY <<EOF greeting.txt\nhello world\nEOF',
    steps: [file('hello world\n', { args: ['EOF', 'greeting.txt', 'root', ''] })],
  },
  {
    says: 'ADD writes it to a file, too',
    file: 'ADD <<EOF /greeting.txt\nhello\nEOF',
    steps: [file('hello\n')],
  },
  {
    says: 'several become files with the names of their delimiters',
    file: 'COPY <<one <<two /to/\n1\none\n2\ntwo',
    steps: [
      file('1\n', { args: ['one', '/to/', 'root', ''] }),
      file('2\n', { args: ['two', '/to/', 'root', ''] }),
    ],
  },
  {
    says: 'one may stand beside files of the context',
    file: 'COPY <<one b /to/\n1\none',
    steps: [file('1\n'), { src: 'b' }],
  },
  {
    says: 'tabs at the beginning of lines go away with <<-',
    file: 'COPY <<-EOT /s\n\t\ta\n\tEOT',
    steps: [file('a\n')],
  },
  {
    says: 'variables are replaced in it',
    file: `ARG FOO=bar\nCOPY <<-EOT /s\n  echo "hello \${FOO}"\nEOT`,
    steps: [{}, file('  echo \\"hello bar\\"\n')],
  },
  {
    says: 'a quoted delimiter keeps them, whatever part of it is quoted',
    file: 'ARG F=1\nCOPY <<-"EOT" /s\n$F\nEOT\nCOPY <<E\'O\'T /s\n$F\nEOT\nCOPY <<\\EOT /s\n$F\nEOT',
    steps: [{}, file('\\$F\n'), file('\\$F\n'), file('\\$F\n')],
  },
  {
    says: 'a backslash protects "$", itself and a backtick, and stays before others',
    file: 'ARG F=1\nCOPY <<E /s\n\\$F \\\\ \\` \\n\nE',
    steps: [{}, file('\\$F \\\\ ` \\\\n\n')],
  },
  {
    says: 'a backslash at the end of a line joins it with the next',
    file: 'COPY <<E /s\na \\\nb\nE',
    steps: [file('a b\n')],
  },
  {
    says: 'what only the build knows is replaced there',
    file: `COPY <<E /s\n$HOME \${X:-y}\nE`,
    steps: [file(`\${HOME} \${X:-y}\n`)],
  },
  {
    says: 'a heredoc does not come from a stage',
    file: 'FROM a AS b\nFROM c\nCOPY --from=b <<E /s\nE',
    refused: [3, 'heredoc'],
  },
]);
