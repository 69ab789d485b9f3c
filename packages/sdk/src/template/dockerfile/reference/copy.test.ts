import { testReference } from './test-reference.ts';

testReference('COPY and ADD', [
  {
    says: 'the last word is the destination',
    file: 'COPY a b c/',
    steps: [
      { src: 'a', dest: 'c/' },
      { src: 'b', dest: 'c/' },
    ],
  },
  { says: 'they need two words', file: 'COPY a', refused: [2, 'a source and a destination'] },
  { says: 'several sources need a folder', file: 'COPY a b c', refused: [2, 'must end with "/"'] },
  {
    says: 'the working folder is one',
    file: 'COPY a b .\nCOPY a b ./\nCOPY a b ..',
    steps: ['.', '.', './', './', '..', '..'].map((dest) => ({ dest })),
  },
  {
    says: 'JSON is for names with blanks',
    file: 'COPY ["a b", "c d/"]',
    steps: [{ src: 'a b', dest: 'c d/' }],
  },
  {
    says: 'a source is below the context, whatever is before it',
    file: 'COPY /a /1\nCOPY ../b /2\nADD ../../c/ /3',
    steps: [{ src: 'a' }, { src: 'b' }, { src: 'c/' }],
  },
  {
    says: 'a pattern stays one',
    file: 'COPY *.png index.?s arr[[]0].txt /dest/',
    steps: [{ src: '*.png' }, { src: 'index.?s' }, { src: 'arr[[]0].txt' }],
  },
  { says: 'files belong to root without --chown', file: 'USER a\nCOPY b /', steps: [{}, { user: 'root' }] },
  {
    says: '--chown is a user and a group, by name or number',
    file: 'COPY --chown=55:mygroup a /\nCOPY --chown=bin a /\nCOPY --chown=10:11 a /',
    steps: [{ user: '55:mygroup' }, { user: 'bin' }, { user: '10:11' }],
  },
  {
    says: '--chmod is octal',
    file: 'ARG M=440\nCOPY --chmod=755 a /\nADD --chmod=$M b /',
    steps: [{}, { mode: '755' }, { mode: '440' }],
  },
  {
    says: '--chmod is symbolic, too',
    file: 'COPY --chmod=+x a /\nCOPY --chmod=u=rwX,go=rX b /\nCOPY --chmod=g=u c /',
    steps: [{ mode: '+x' }, { mode: 'u=rwX,go=rX' }, { mode: 'g=u' }],
  },
  { says: 'another mode is an error', file: 'COPY --chmod=rwx a /', refused: [2, 'octal or symbolic'] },
  {
    says: '--link does not change the files',
    file: 'COPY --link a /\nADD --link=false b /',
    steps: [{ src: 'a' }, { src: 'b' }],
  },
  {
    says: '--parents is refused',
    file: 'COPY --parents a /',
    refused: [2, 'COPY --parents is not supported'],
  },
  { says: '--parents=false is the default', file: 'COPY --parents=false a /', steps: [{ src: 'a' }] },
  {
    says: '--exclude is refused',
    file: 'COPY --exclude=*.txt a /',
    refused: [2, 'COPY --exclude is not supported'],
  },
  {
    says: 'an unknown flag is an error',
    file: 'COPY --owner=a b /',
    refused: [2, 'COPY has no flag --owner'],
  },
  {
    says: 'modes are changed as chmod does',
    shownBy: ['dockerfile-instructions.test.ts', 'changes modes as chmod does'],
  },
]);

testReference('COPY --from', [
  {
    says: 'it names a stage, by name or number',
    file: 'FROM a AS b\nFROM c\nCOPY --from=b /x /\nCOPY --from=0 /y /',
    steps: [{ fromStage: 0 }, { fromStage: 0 }],
  },
  {
    says: 'or an image',
    file: 'COPY --from=nginx:latest /etc/nginx/nginx.conf /nginx.conf',
    steps: [{ fromStage: 0, args: ['/etc/nginx/nginx.conf', '/nginx.conf', '', ''] }],
  },
  { says: 'a stage is before it', file: 'COPY --from=1 /a /b', refused: [2, 'no stage 1'] },
  { says: 'it has no variables', file: 'COPY --from=$A /a /b', refused: [2, 'without variables'] },
  {
    says: 'paths may have variables of the image',
    file: 'FROM a AS b\nFROM c\nCOPY --from=b $JAVA_HOME $JAVA_HOME',
    steps: [{ args: [`\${JAVA_HOME}`, `\${JAVA_HOME}`, '', ''] }],
  },
]);

testReference('ADD', [
  { says: 'archives are unpacked', file: 'ADD a.tar /', steps: [{ dockerfile: 'add' }] },
  {
    says: '--unpack=false keeps them',
    file: 'ADD --unpack=false a.tar /',
    steps: [{ dockerfile: 'copy', user: 'root' }],
  },
  { says: 'a URL is refused', file: 'ADD https://example.com/a /a', refused: [2, 'ADD of a URL'] },
  {
    says: 'a Git repository is refused',
    file: 'ADD git@github.com:a/b.git /a',
    refused: [2, 'ADD of a URL'],
  },
  {
    says: '--checksum is for these alone',
    file: 'ADD --checksum=sha256:1 a /a',
    refused: [2, 'ADD --checksum'],
  },
  {
    says: '--keep-git-dir is for these alone',
    file: 'ADD --keep-git-dir=true a /a',
    refused: [2, 'ADD --keep-git-dir'],
  },
  { says: 'it has no --from', file: 'ADD --from=a b /', refused: [2, 'ADD has no flag --from'] },
  {
    says: 'a sparse archive is one',
    shownBy: ['dockerfile-instructions.test.ts', 'unpacks a sparse archive'],
  },
]);
