import { testReference } from './test-reference.ts';

const sh = ['/bin/sh', '-c'];

testReference('CMD and ENTRYPOINT', [
  { says: 'CMD has an exec form and a shell form', file: 'CMD ["a", "b"]', has: { command: ['a', 'b'] } },
  { says: 'the last CMD holds', file: 'CMD a\nCMD b c', has: { command: [...sh, 'b c'] } },
  { says: 'the last ENTRYPOINT holds', file: 'ENTRYPOINT a\nENTRYPOINT ["b"]', has: { entrypoint: ['b'] } },
  {
    says: 'CMD gives ENTRYPOINT its arguments',
    file: 'ENTRYPOINT ["top", "-b"]\nCMD ["-c"]',
    has: { entrypoint: ['top', '-b'], command: ['-c'] },
  },
  {
    says: 'they have no flags: what looks like one is an argument',
    file: 'ENTRYPOINT top -b\nCMD -- --ignored-param1',
    has: { entrypoint: [...sh, 'top -b'], command: [...sh, '-- --ignored-param1'] },
  },
  {
    says: 'CMD may begin with what looks like a flag',
    file: 'CMD --port 80',
    has: { command: [...sh, '--port 80'] },
  },
  {
    says: 'ENTRYPOINT resets the CMD of the stage that is continued',
    file: 'FROM a AS b\nCMD ["x"]\nFROM b\nENTRYPOINT ["y"]',
    has: { entrypoint: ['y'], command: undefined },
  },
  { says: 'variables are for the shell', file: 'ENV A=1\nCMD echo $A', has: { command: [...sh, 'echo $A'] } },
]);

testReference('HEALTHCHECK', [
  { says: 'CMD is a command or words', file: 'HEALTHCHECK CMD ["a", "b"]', has: { healthcheck: ['a', 'b'] } },
  {
    says: 'options come before CMD',
    file: 'HEALTHCHECK --interval=5m --timeout=3s --start-period=1s --start-interval=1s --retries=2 \\\n  CMD curl -f http://localhost/ || exit 1',
    has: { healthcheck: [...sh, 'curl -f http://localhost/ || exit 1'] },
  },
  { says: 'NONE disables that of the image', file: 'HEALTHCHECK NONE', has: { healthcheck: [] } },
  {
    says: 'the last one holds',
    file: 'HEALTHCHECK CMD a\nHEALTHCHECK CMD ["b"]',
    has: { healthcheck: ['b'] },
  },
  { says: 'another word is an error', file: 'HEALTHCHECK curl', refused: [2, 'HEALTHCHECK needs'] },
  {
    says: 'an unknown option is an error',
    file: 'HEALTHCHECK --every=5s CMD a',
    refused: [2, 'no flag --every'],
  },
  {
    says: 'after CMD there are no options',
    file: 'HEALTHCHECK CMD --a',
    has: { healthcheck: [...sh, '--a'] },
  },
]);

testReference('EXPOSE', [
  {
    says: 'the protocol is TCP without another',
    file: 'EXPOSE 80 443/tcp 53/udp',
    has: { exposedPorts: [80, 443] },
  },
  { says: 'ports may be a range', file: 'EXPOSE 8000-8002', has: { exposedPorts: [8000, 8001, 8002] } },
  {
    says: 'ports may be variables, and one of the image is no port that a template waits for',
    file: `ARG P=90\nEXPOSE $P \${Q:-91}/tcp`,
    has: { exposedPorts: [90] },
  },
  { says: 'another word is an error', file: 'EXPOSE 8080:80', refused: [2, 'EXPOSE must be a port'] },
]);

testReference('VOLUME', [
  {
    says: 'it is JSON or words',
    file: 'VOLUME ["/a b"]\nVOLUME /c /d',
    steps: [{ type: 'VOLUME', args: ['/a b'] }, { args: ['/c', '/d'] }],
  },
  { says: 'it needs a folder', file: 'VOLUME', refused: [2, 'needs a folder'] },
  { says: 'later steps may change what is in it', file: 'VOLUME /a\nRUN b', steps: [{}, { type: 'RUN' }] },
]);

testReference('USER', [
  {
    says: 'it is a user and a group, by name or number',
    file: 'USER a\nUSER a:b\nUSER 1:2',
    steps: [{ args: ['a'] }, { args: ['a:b'] }, { args: ['1:2'] }],
  },
  { says: 'another form is an error', file: 'USER 1000:', refused: [2, 'USER must be'] },
]);

testReference('WORKDIR', [
  {
    says: 'it is relative to the one before it',
    file: 'WORKDIR /a\nWORKDIR b',
    steps: [{ args: ['/a'] }, { args: ['b'] }],
  },
  {
    says: 'it may have variables',
    file: 'ENV D=/path\nWORKDIR $D/$N',
    steps: [{}, { args: [`/path/\${N}`] }],
  },
  { says: 'it may have quotes', file: 'WORKDIR "/a b"', steps: [{ args: ['/a b'] }] },
  { says: 'it needs a folder', file: 'WORKDIR', refused: [2, 'needs a folder'] },
]);
