import { testReference } from './test-reference.ts';

const image = (name: string) => ({ source: { kind: 'image' as const, image: name, credentials: undefined } });

testReference('FROM', [
  {
    says: 'an image may have a tag, a digest or neither',
    file: 'FROM a:1\nFROM b@sha256:2\nFROM c',
    has: image('c'),
  },
  {
    says: 'a later one begins another stage, without what was before it',
    file: 'FROM a\nENV A=1\nFROM b',
    steps: [],
    has: { ...image('b'), stages: [] },
  },
  {
    says: 'a stage may have a name, whatever its letters',
    file: 'FROM a as Base\nFROM base\nRUN b',
    has: { source: { kind: 'stage', index: 0 } },
  },
  {
    says: 'the name is for COPY --from and RUN --mount',
    file: 'FROM a AS b\nFROM c\nCOPY --from=B /x /\nRUN --mount=from=b,target=/m true',
    steps: [{ fromStage: 0 }, { mounts: [{ type: 'bind', fromStage: 0 }] }],
  },
  {
    says: 'a platform may be that of the build',
    file: 'FROM --platform=linux/amd64 a',
    has: { ...image('a'), platform: 'linux/amd64' },
  },
  {
    says: 'a platform may be an architecture alone, or the system',
    file: 'FROM --platform=amd64 a AS b\nFROM --platform=linux b',
    has: { source: { kind: 'stage', index: 0 } },
  },
  {
    says: 'another architecture alone is refused',
    file: 'FROM --platform=arm64 a',
    refused: [1, 'the template is for linux/amd64'],
  },
  {
    says: 'a platform may be a variable',
    file: `FROM --platform=$BUILDPLATFORM a\nFROM --platform=\${TARGETPLATFORM} b`,
    has: image('b'),
  },
  { says: 'an unset platform is the default', file: 'ARG P\nFROM --platform=$P a', has: image('a') },
  {
    says: 'another platform is refused',
    file: 'FROM --platform=linux/arm64 a',
    refused: [1, 'the template is for linux/amd64'],
  },
  {
    says: 'another platform of a stage that is not needed is not looked at',
    file: 'FROM --platform=windows/amd64 a AS b\nFROM c',
    has: image('c'),
  },
  {
    says: 'variables are those of ARG before the first FROM',
    file: `ARG V=1\nFROM base:\${V}\nFROM extras:\${V:-2}`,
    has: image('extras:1'),
  },
  {
    says: 'platform arguments are among them',
    file: `FROM image-\${TARGETARCH}`,
    has: { ...image('image-amd64'), platform: 'linux/amd64' },
  },
  {
    says: 'these are known in a stage when ARG names them again',
    file: 'ARG V=latest\nFROM busybox:$V\nARG V\nCOPY $V /',
    steps: [{ args: ['V', 'latest'] }, { src: 'latest' }],
  },
  { says: 'and not without that', file: 'ARG V=latest\nFROM a\nCOPY $V /', refused: [3, '$V'] },
  { says: 'an image that is empty is an error', file: 'ARG V\nFROM $V', refused: [2, 'is empty'] },
  { says: 'nothing stands after the name', file: 'FROM a b c', refused: [1, 'AS with a name'] },
  {
    says: 'of two stages with a name, the later one is meant after it',
    file: 'FROM a AS x\nFROM b AS x\nFROM c\nCOPY --from=x / /',
    has: { stages: [{ ...image('b'), steps: [] }] },
  },
  { says: 'an unknown flag is an error', file: 'FROM --os=linux a', refused: [1, 'FROM has no flag --os'] },
]);
