import { run, testReference } from './test-reference.ts';

const mounted = (mount: object): object[] => [{ type: 'RUN', mounts: [mount] }];

testReference('RUN', [
  { says: 'it needs a command', file: 'RUN', refused: [2, 'needs a command'] },
  {
    says: 'flags come before the command',
    file: 'RUN --network=default --security=sandbox a --b',
    steps: [run('a --b')],
  },
  { says: '"--" ends the flags', file: 'RUN -- --a', steps: [run('--a')] },
  { says: 'an unknown flag is an error', file: 'RUN --user=a b', refused: [2, 'RUN has no flag --user'] },
  {
    says: '--network=none and host are refused',
    file: 'RUN --network=none a',
    refused: [2, 'RUN --network=none'],
  },
  {
    says: '--security=insecure is refused',
    file: 'RUN --security=insecure a',
    refused: [2, 'RUN --security=insecure'],
  },
  { says: '--device is refused', file: 'RUN --device=nvidia.com/gpu=all a', refused: [2, 'RUN --device'] },
  {
    says: 'it ends with its command',
    shownBy: ['dockerfile-instructions.test.ts', 'ends a RUN with its command'],
  },
]);

testReference('RUN --mount', [
  {
    says: 'bind is the default, from the whole context',
    file: 'RUN --mount=target=/x a',
    steps: mounted({ type: 'bind', target: '/x', src: '.' }),
  },
  {
    says: 'a path may be named target, dst or destination, relative to WORKDIR',
    file: 'RUN --mount=type=bind,source=a,dst=. --mount=type=bind,src=/b,destination=c d',
    steps: [
      {
        mounts: [
          { target: '.', src: 'a' },
          { target: 'c', src: 'b' },
        ],
      },
    ],
  },
  {
    says: 'bind may be of a stage or an image',
    file: 'FROM a AS b\nFROM c\nRUN --mount=type=bind,from=b,source=/x,target=/y --mount=from=img:1,target=/z d',
    steps: [
      {
        mounts: [
          { fromStage: 0, source: '/x', target: '/y' },
          { fromStage: 1, target: '/z' },
        ],
      },
    ],
  },
  {
    says: 'bind may be written to, and that is lost',
    file: 'RUN --mount=type=bind,target=/x,rw a',
    steps: mounted({ type: 'bind', src: '.' }),
  },
  {
    says: 'cache has an id, a mode and an owner',
    file: 'RUN --mount=type=cache,id=i,target=/c,mode=0700,uid=1,gid=2 a',
    steps: mounted({ type: 'cache', id: 'i', target: '/c', mode: 0o700, uid: 1, gid: 2 }),
  },
  {
    says: 'its id is by default its path',
    file: 'RUN --mount=type=cache,target=/c a',
    steps: mounted({ type: 'cache', target: '/c' }),
  },
  {
    says: 'locked caches wait, others have a copy',
    file: 'RUN --mount=type=cache,target=/c,sharing=locked --mount=type=cache,target=/d,sharing=private a',
    steps: [{ mounts: [{ target: '/c', locked: true }, { target: '/d' }] }],
  },
  {
    says: 'another sharing is an error',
    file: 'RUN --mount=type=cache,target=/c,sharing=x a',
    refused: [2, 'sharing must be'],
  },
  {
    says: 'a cache may be read only',
    file: 'RUN --mount=type=cache,target=/c,ro a',
    steps: mounted({ readOnly: true }),
  },
  {
    says: 'a cache may begin with files of a stage',
    file: 'FROM a AS b\nFROM c\nRUN --mount=type=cache,from=b,source=/s,target=/c d',
    steps: mounted({ fromStage: 0, source: '/s' }),
  },
  {
    says: 'tmpfs is an empty folder',
    file: 'RUN --mount=type=tmpfs,target=/t a',
    steps: mounted({ type: 'tmpfs', target: '/t' }),
  },
  {
    says: 'its size is an upper limit, in bytes or with a suffix',
    file: `ARG S=64\nRUN --mount=type=tmpfs,target=/t,size=1g --mount=type=tmpfs,target=/u,size=\${S}M a`,
    steps: [
      {},
      {
        mounts: [
          { type: 'tmpfs', target: '/t' },
          { type: 'tmpfs', target: '/u' },
        ],
      },
    ],
  },
  {
    says: 'another size is an error',
    file: 'RUN --mount=type=tmpfs,target=/t,size=half a',
    refused: [2, 'got "half"'],
  },
  {
    says: 'labels of SELinux change nothing',
    file: 'RUN --mount=type=bind,target=/x,z --mount=type=cache,target=/c,Z --mount=target=/y,relabel=shared a',
    steps: [{ mounts: [{ type: 'bind', target: '/x' }, { type: 'cache' }, { target: '/y' }] }],
  },
  {
    says: 'a tmpfs with the files below it is refused',
    file: 'RUN --mount=type=tmpfs,target=/t,tmpcopyup a',
    refused: [2, 'tmpcopyup is not supported: the folder is empty'],
  },
  {
    says: 'secret is refused by name',
    file: 'RUN --mount=type=secret,id=a b',
    refused: [2, 'RUN --mount=type=secret is not supported'],
  },
  {
    says: 'ssh is refused by name',
    file: 'RUN --mount=type=ssh b',
    refused: [2, 'RUN --mount=type=ssh is not supported'],
  },
  {
    says: 'bind without a path is at the working folder',
    file: 'RUN --mount=ro --mount=type=cache,target=/c a',
    steps: [{ mounts: [{ type: 'bind', target: '.', src: '.' }, { type: 'cache' }] }],
  },
  {
    says: 'a path is needed for the others',
    file: 'RUN --mount=type=cache a',
    refused: [2, 'needs a target'],
  },
  {
    says: 'an unknown option is an error',
    file: 'RUN --mount=type=cache,target=/c,x=1 a',
    refused: [2, 'has no option x'],
  },
  {
    says: 'variables are replaced in options',
    file: 'ARG A=1\nRUN --mount=type=cache,target=/c/$A,id=$B a',
    steps: [{}, { mounts: [{ target: '/c/1', id: `\${B}` }] }],
  },
  {
    says: 'a value may be quoted',
    file: 'RUN --mount="type=cache,target=/a b" c',
    steps: mounted({ target: '/a b' }),
  },
  {
    says: 'mounts are there for the command alone',
    shownBy: ['dockerfile-instructions.test.ts', 'mounts caches, folders in memory'],
  },
]);
