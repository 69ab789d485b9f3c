import { run, testReference } from './test-reference.ts';

testReference('ONBUILD', [
  { says: 'it does nothing in its own stage', file: 'ONBUILD RUN a\nRUN b', steps: [run('b')] },
  {
    says: 'it runs at the beginning of a stage that continues its own',
    file: 'FROM a AS base\nONBUILD RUN b\nONBUILD ENV C=1\nRUN d\nFROM base\nRUN e',
    steps: [run('b'), { type: 'ENV', args: ['C', '1'] }, run('e')],
  },
  {
    says: 'it runs in no stage that continues that one',
    file: 'FROM a AS base\nONBUILD RUN b\nFROM base AS child\nFROM child\nRUN c',
    steps: [run('c')],
  },
  {
    says: 'its COPY may name another stage, which is built then',
    file: 'FROM a AS tools\nFROM b AS base\nONBUILD COPY --from=tools /t /t\nFROM base',
    steps: [{ fromStage: 0, args: ['/t', '/t', '', ''] }],
  },
  {
    says: 'it may be continued on further lines',
    file: 'FROM a AS base\nONBUILD RUN b && \\\n  c\nFROM base',
    steps: [run('b &&   c')],
  },
  {
    says: 'triggers of an image run in a build on it, which is refused before a step',
    shownBy: ['dockerfile-stages.long.test.ts', 'refuses an image with ONBUILD'],
  },
  { says: 'it needs an instruction', file: 'ONBUILD', refused: [2, 'ONBUILD needs an instruction'] },
  {
    says: 'it has none of its own kind',
    file: 'ONBUILD ONBUILD RUN a',
    refused: [2, 'ONBUILD ONBUILD is not'],
  },
  { says: 'it has no FROM', file: 'ONBUILD FROM a', refused: [2, 'ONBUILD FROM is not allowed'] },
  { says: 'it has no MAINTAINER', file: 'ONBUILD MAINTAINER a', refused: [2, 'ONBUILD MAINTAINER is not'] },
  {
    says: 'an unknown instruction in it is an error where it runs',
    file: 'FROM a AS base\nONBUILD BOGUS\nFROM base',
    refused: [2, 'BOGUS is not supported'],
  },
]);
