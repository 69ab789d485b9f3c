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
    says: '--parents keeps the path of each source, or what stands behind "/./" in it',
    file: 'COPY --parents ./x/a.txt ../y/*.txt /to/\nADD a /\nCOPY --parents=true /x/./y/**/z to',
    steps: [
      { src: './x/a.txt', layout: 'parents' },
      { src: 'y/*.txt', layout: 'parents' },
      { src: 'a', layout: 'flat' },
      { src: 'x/./y/**/z', dest: 'to', layout: 'parents' },
    ],
  },
  { says: '--parents=false is the default', file: 'COPY --parents=false a /', steps: [{ src: 'a' }] },
  {
    says: '--exclude may be there several times, with variables',
    file: 'ARG E=md\nCOPY --exclude=*.txt --exclude=**/*.$E . /\nADD --exclude=a b /',
    steps: [{}, { src: '.', excludes: ['*.txt', '**/*.md'] }, { src: 'b', excludes: ['a'] }],
  },
  {
    says: 'both are for files of the context alone',
    file: 'FROM a AS b\nFROM c\nCOPY --from=b --exclude=x /y /',
    refused: [3, 'does not go with --parents and --exclude'],
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
  {
    says: 'a source may be a URL, whose last part is the name of the file, with the mode 600',
    file: 'ARG V=1\nADD https://example.com/$V/a%20b.tgz?x=y http://example.com /to/\nADD --chmod=755 https://example.com/c /d',
    options: { fetchUrls: true },
    steps: [
      {},
      { remote: { url: 'https://example.com/1/a%20b.tgz?x=y' }, src: 'a b.tgz', dest: '/to/', mode: '600' },
      { remote: { url: 'http://example.com/' }, src: '__unnamed__', user: 'root', dockerfile: 'copy' },
      { src: 'c', dest: '/d', mode: '755' },
    ],
  },
  {
    says: 'an archive of a URL is unpacked with --unpack alone',
    file: 'ADD --unpack=true https://example.com/a.tgz /',
    options: { fetchUrls: true },
    steps: [{ src: 'a.tgz', dockerfile: 'add', mode: '' }],
  },
  {
    says: '--checksum is what the content of a URL has to have',
    file: `ADD --checksum=sha256:${'0a'.repeat(32)} https://example.com/a /a`,
    options: { fetchUrls: true },
    steps: [{ remote: { checksum: `sha256:${'0a'.repeat(32)}` } }],
  },
  {
    says: 'another digest is an error',
    file: 'ADD --checksum=sha1:1 https://example.com/a /a',
    options: { fetchUrls: true },
    refused: [2, '--checksum must be sha256:'],
  },
  {
    says: 'a URL is refused unless the caller allows it',
    file: 'ADD https://example.com/a /a',
    refused: [2, 'ADD of the URL "https://example.com/a": allow'],
  },
  {
    says: 'a password in a URL is refused',
    file: 'ADD https://user:password@example.com/a /a',
    options: { fetchUrls: true },
    refused: [2, 'with a user or a password'],
  },
  {
    says: 'a Git repository is refused',
    file: 'ADD git@github.com:a/b.git /a',
    options: { fetchUrls: true },
    refused: [2, 'not for Git'],
  },
  {
    says: 'a Git repository by its URL is refused, too',
    file: 'ADD https://github.com/a/b.git#main /a',
    options: { fetchUrls: true },
    refused: [2, 'not for Git'],
  },
  {
    says: 'a path is none',
    file: 'COPY https://example.com/a /a',
    steps: [{ src: 'https://example.com/a', layout: 'flat' }],
  },
  {
    says: '--checksum is for these alone',
    file: `ADD --checksum=sha256:${'0a'.repeat(32)} a /a`,
    refused: [2, 'ADD --checksum is for the file of a URL'],
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
