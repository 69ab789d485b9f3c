import { describe, expect, it } from 'vitest';
import { Template, type TemplateBuilder } from '../index.ts';
import { parseDockerfile } from './parse-dockerfile.ts';
import { DockerfileError } from './refused.ts';

const stepsOf = (lines: string, buildArgs: Record<string, string> = {}) =>
  parseDockerfile(`FROM debian:13\n${lines}`, { buildArgs }).steps.map((step) => ({
    ...step,
    line: undefined,
  }));
const sh = (command: string) => ({ type: 'RUN', args: [command], shell: ['/bin/sh', '-c'] });

it('maps a whole file of a usual project, as root in / at first', () => {
  const text = `# syntax=docker/dockerfile:1
ARG VERSION=3.13
FROM python:\${VERSION}-slim AS app
LABEL org.opencontainers.image.title="App"
ENV PYTHONUNBUFFERED=1 \\
    PATH=/venv/bin:$PATH
WORKDIR /srv/app
COPY requirements.txt ./
RUN pip install -r requirements.txt && \\
    # not for later
    rm requirements.txt
COPY --chown=app:app --chmod=0644 src/ tests/ ./
USER app
EXPOSE 8000
STOPSIGNAL SIGINT
HEALTHCHECK --interval=5s CMD ["curl", "-f", "http://localhost:8000/"]
ENTRYPOINT ["python", "-m"]
CMD ["app", "--name", "two words"]
`;
  const copy = { type: 'COPY', layout: 'flat', dockerfile: 'copy' };
  expect(parseDockerfile(text, { buildArgs: { VERSION: '3.14' } })).toEqual({
    source: { kind: 'image', image: 'python:3.14-slim', credentials: undefined },
    steps: [
      { type: 'ENV', args: ['PYTHONUNBUFFERED', '1', 'PATH', `/venv/bin:\${PATH}`], line: 5 },
      { type: 'WORKDIR', args: ['/srv/app'], line: 7 },
      { ...copy, src: 'requirements.txt', dest: './', user: 'root', mode: '', line: 8 },
      {
        type: 'RUN',
        args: ['pip install -r requirements.txt &&     rm requirements.txt'],
        shell: ['/bin/sh', '-c'],
        line: 9,
      },
      { ...copy, src: 'src/', dest: './', user: 'app:app', mode: '0644', line: 12 },
      { ...copy, src: 'tests/', dest: './', user: 'app:app', mode: '0644', line: 12 },
      { type: 'USER', args: ['app'], dockerfile: 'user', line: 13 },
    ],
    imageConfig: true,
    stages: [],
    startCommand: undefined,
    readyCommand: undefined,
    entrypoint: ['python', '-m'],
    command: ['app', '--name', 'two words'],
    healthcheck: ['curl', '-f', 'http://localhost:8000/'],
    exposedPorts: [8000],
  });
});

describe('RUN', () => {
  it('is run by the shell of the file, or as the words of its JSON form', () => {
    expect(stepsOf('RUN ["echo", "$HOME", "a b"]')).toEqual([
      { type: 'RUN', args: ['a b'], shell: ['echo', '$HOME'] },
    ]);
    expect(stepsOf('SHELL ["/bin/bash", "-euc"]\nRUN false | true')).toEqual([
      { type: 'RUN', args: ['false | true'], shell: ['/bin/bash', '-euc'] },
    ]);
    expect(stepsOf('RUN ["a"]')).toEqual([{ type: 'RUN', args: ['a'], shell: [] }]);
  });

  it('runs a heredoc as a script, and leaves one for another program to the shell', () => {
    expect(stepsOf('RUN <<EOF\necho a\n  echo "$b" \\\n c\nEOF\nRUN echo next')).toEqual([
      sh('echo a\n  echo "$b" \\\n c\n'),
      sh('echo next'),
    ]);
    expect(stepsOf('RUN <<-END\n\techo a\nEND')).toEqual([sh('echo a\n')]);
    expect(stepsOf('RUN cat <<"A" - <<B > /both\n1\nA\n2\nB')).toEqual([
      sh('cat <<"A" - <<B > /both\n1\nA\n2\nB\n'),
    ]);
    const [{ args = [''] } = {}] = stepsOf('RUN <<EOF\n#!/usr/bin/env python3\nprint()\nEOF') as {
      args?: string[];
    }[];
    expect(args[0]).toMatch(/^f=\$\(mktemp\) && printf %s '#!\/usr\/bin\/env python3\nprint\(\)\n' >"\$f"/);
  });
});

describe('variables', () => {
  it('are replaced where the file knows them, and left to the build where only it does', () => {
    const lines = `ARG A=one
ARG B
ENV C=$A-\${B:-none} D="\${A:+is set}" E='\${A}x' F=a\\ b
ENV OLD form with $A
ENV PATH=/opt:$PATH
ENV G=\${PATH}
WORKDIR /srv/\${A}/$UNKNOWN
USER \${A}
COPY $A \${C}/$UNKNOWN/`;
    const text = lines.replace(`E='\${A}x' `, '');
    expect(stepsOf(text)).toMatchObject([
      { type: 'ARG', args: ['A', 'one'] },
      { type: 'ENV', args: ['C', 'one-none', 'D', 'is set', 'F', 'a b'] },
      { type: 'ENV', args: ['OLD', 'form with one'] },
      { type: 'ENV', args: ['PATH', `/opt:\${PATH}`] },
      { type: 'ENV', args: ['G', `\${PATH}`] },
      { type: 'WORKDIR', args: [`/srv/one/\${UNKNOWN}`] },
      { type: 'USER', args: ['one'] },
      { type: 'COPY', src: 'one', dest: `one-none/\${UNKNOWN}/` },
    ]);
    expect(() => stepsOf(lines)).toThrow(/line 4: .*"\$\{A\}x"/);
  });

  it('of ENV hide those of ARG, and a build argument replaces a default', () => {
    expect(stepsOf('ENV A=env\nARG A=arg\nARG B=default\nCOPY $A $B', { B: 'given' })).toMatchObject([
      { type: 'ENV', args: ['A', 'env'] },
      { type: 'ARG', args: ['B', 'given'] },
      { type: 'COPY', src: 'env', dest: 'given' },
    ]);
  });

  it('for proxies reach RUN of every stage without ARG, and hide neither ARG nor ENV', () => {
    const proxies = { http_proxy: 'http://a:1', HTTPS_PROXY: 'http://b:2', NO_PROXY: 'c' };
    const text = `FROM a AS b
COPY x /
RUN one
RUN two
FROM b
ARG http_proxy
ENV NO_PROXY=d
RUN three
FROM a
COPY --from=b / /
COPY --from=1 / /`;
    const { stages = [], steps } = parseDockerfile(text, { buildArgs: proxies });
    expect(stages.map((stage) => stage.steps)).toMatchObject([
      [
        { type: 'COPY' },
        {
          type: 'ARG',
          args: ['http_proxy', 'http://a:1', 'HTTPS_PROXY', 'http://b:2', 'NO_PROXY', 'c'],
          line: 3,
        },
        { type: 'RUN' },
        { type: 'RUN' },
      ],
      [
        { type: 'ARG', args: ['http_proxy', 'http://a:1'], line: 6 },
        { type: 'ENV', args: ['NO_PROXY', 'd'] },
        { type: 'ARG', args: ['HTTPS_PROXY', 'http://b:2'], line: 8 },
        { type: 'RUN' },
      ],
    ]);
    expect(steps.map(({ type }) => type)).toEqual(['COPY', 'COPY']);
    expect(() => stepsOf('RUN true\nCOPY $http_proxy /', proxies)).toThrow(/line 3: .*\$http_proxy is not/);
  });

  it('from before FROM are known after it only when they are declared again', () => {
    const file = 'ARG V=13\nFROM debian:$V\nARG V\nCOPY $V /v';
    expect(parseDockerfile(file).steps).toMatchObject([
      { type: 'ARG', args: ['V', '13'] },
      { type: 'COPY', src: '13' },
    ]);
    expect(() => parseDockerfile('ARG V=13\nFROM debian:$V\nCOPY $V /v')).toThrow(/line 3: .*\$V is not/);
  });
});

describe('the start command', () => {
  const startOf = (lines: string) => {
    const { entrypoint, command } = parseDockerfile(`FROM a\n${lines}`);
    return [entrypoint, command];
  };

  it('is ENTRYPOINT and CMD as words, which the build joins with those of the image', () => {
    expect(startOf('CMD python app.py')).toEqual([undefined, ['/bin/sh', '-c', 'python app.py']]);
    expect(startOf('CMD ["a"]\nCMD ["b"]')).toEqual([undefined, ['b']]);
    expect(startOf('SHELL ["bash", "-c"]\nENTRYPOINT ["run"]\nCMD x y')).toEqual([
      ['run'],
      ['bash', '-c', 'x y'],
    ]);
    expect(startOf('CMD []')).toEqual([undefined, []]);
    expect(startOf('RUN true')).toEqual([undefined, undefined]);
  });

  it('of a stage that is continued holds, but not its CMD for another ENTRYPOINT', () => {
    const base = 'ENTRYPOINT ["run"]\nCMD ["a"]';
    expect(startOf(`${base}\nFROM a AS b\n${base}\nFROM b`)).toEqual([['run'], ['a']]);
    expect(startOf(`${base}\nFROM a AS b\n${base}\nFROM b\nENTRYPOINT ["c"]`)).toEqual([['c'], undefined]);
  });

  it('has the TCP ports of EXPOSE, also of stages that it continues', () => {
    const ports = (lines: string) => parseDockerfile(`FROM a AS base\n${lines}`).exposedPorts;
    expect(ports('ENV PORT=90\nEXPOSE 80/TCP 53/udp $PORT\nEXPOSE 8000-8002 9000-9001/udp')).toEqual([
      ...[80, 90, 8000, 8001, 8002],
    ]);
    expect(ports('EXPOSE 80\nFROM base\nEXPOSE 81\nFROM a')).toBeUndefined();
    expect(ports('EXPOSE 80\nFROM base\nEXPOSE 81')).toEqual([80, 81]);
    for (const word of ['x', '0', '70000', '90-80', '8080:80', '80/http', '80-'])
      expect(() => ports(`EXPOSE ${word}`)).toThrow(`EXPOSE must be a port of 1 to 65535`);
    expect(() => ports('EXPOSE')).toThrow('EXPOSE needs a port');
    expect(() => ports('EXPOSE $PORT')).toThrow('the value of $PORT is not known here');
  });

  it('is ready as HEALTHCHECK says, unless that is NONE', () => {
    const ready = (lines: string) => parseDockerfile(`FROM a\n${lines}`).healthcheck;
    expect(ready('HEALTHCHECK --retries=3 CMD curl -f http://x || exit 1')).toEqual([
      ...['/bin/sh', '-c'],
      'curl -f http://x || exit 1',
    ]);
    expect(ready('HEALTHCHECK CMD true\nHEALTHCHECK NONE')).toEqual([]);
    expect(ready('CMD true')).toBeUndefined();
  });
});

it('joins continued lines without comments and empty lines between them', () => {
  expect(stepsOf('RUN apt-get install \\  \n  # why\n\n   a \\\n# and\n  b\nRUN c d')).toEqual([
    sh('apt-get install    a   b'),
    sh('c d'),
  ]);
  expect(parseDockerfile('# escape=`\nFROM a\nRUN dir `\n x').steps.at(-1)).toMatchObject(sh('dir  x'));
});

it('makes the folders of VOLUME as root', () => {
  expect(stepsOf('VOLUME ["/a b", "/c"]')).toEqual([
    { type: 'RUN', args: ["mkdir -p -- '/a b' /c", 'root'], shell: ['/bin/sh', '-c'] },
  ]);
});

describe('what a template cannot express', () => {
  it.each([
    ['COPY --from=1 /a /b', 2, 'no stage 1'],
    ['COPY --from=$A /a /b', 2, 'without variables'],
    ['COPY --exclude=a . /b', 2, 'COPY --exclude'],
    ['FROM a AS b\nFROM c AS B', 3, 'two stages'],
    ['RUN --mount=type=ssh true', 2, 'RUN --mount=type=ssh'],
    ['RUN <<EOF\necho', 2, 'heredoc EOF has no end'],
    ['ADD <<EOF /a\nhi\nEOF', 2, 'heredoc'],
    ['COPY --chmod=u+x a b', 2, 'octal'],
    ['COPY a b c', 2, 'must end with "/"'],
    ['COPY a', 2, 'a source and a destination'],
    ['ADD https://example.com/a /a', 2, 'URL'],
    ['ONBUILD RUN true', 2, 'ONBUILD'],
    ['USER 1000:', 2, 'USER'],
    ['ARG TARGETARCH', 2, 'TARGETARCH'],
    ['ENV A="b', 2, 'not closed'],
    [`ENV A=\${B#x}`, 2, 'only :- and :+'],
    [`ENV A=\${B:-x}`, 2, 'B of the image'],
    ['ENV PATH=/a:$PATH OLD=$PATH', 2, 'use two'],
    ['SHELL /bin/bash', 2, 'JSON'],
    ['HEALTHCHECK curl', 2, 'HEALTHCHECK'],
    ['VERSION 1', 2, 'VERSION'],
  ])('is refused with its line: %s', (lines, line, message) => {
    const refused = expect(() => stepsOf(lines));
    refused.toThrow(DockerfileError);
    refused.toThrow(expect.objectContaining({ line, code: 'invalid_argument' }));
    refused.toThrow(message);
  });

  it.each([
    ['FROM --platform=linux/arm64 a', 'FROM --platform'],
    ['RUN true', 'before FROM'],
    ['# nothing', 'no FROM'],
    ['FROM a b c', 'FROM must be'],
  ])('is refused before its steps: %s', (text, message) => {
    expect(() => parseDockerfile(text)).toThrow(message);
  });

  it('includes a build argument that no ARG declares', () => {
    expect(() => stepsOf('ARG A', { A: '1', B: '2' })).toThrow('no ARG for the build arguments B');
  });
});

describe('stages', () => {
  const shapeOf = (text: string, target?: string) => {
    const { stages = [], ...last } = parseDockerfile(text, { target });
    return [...stages, last].map(({ source, steps }) => [
      source.kind === 'image' ? source.image : source.kind === 'stage' && source.index,
      ...steps.map((step) => ('fromStage' in step ? `${step.args[0]} of ${step.fromStage}` : step.type)),
    ]);
  };
  const file = `ARG V=1
FROM a:$V AS base
RUN true
FROM base AS tools
RUN --mount=type=cache,target=/c true
FROM base AS Build
COPY --from=ghcr.io/x/y:1 /y /y
FROM scratch
COPY --from=build --chown=1:2 /out /z /
COPY --from=0 /in /in
COPY --from=ghcr.io/x/y:1 /w /w
`;

  it('are those that the target needs, and the images that they copy from', () => {
    expect(shapeOf(file)).toEqual([
      ['a:1', 'RUN'],
      ['ghcr.io/x/y:1'],
      [0, '/y of 1'],
      ['scratch', '/out of 2', '/z of 2', '/in of 0', '/w of 1'],
    ]);
    expect(shapeOf(file, 'BUILD')).toEqual([['a:1', 'RUN'], ['ghcr.io/x/y:1'], [0, '/y of 1']]);
    expect(shapeOf(file, '0')).toEqual([['a:1', 'RUN']]);
    expect(() => shapeOf(file, 'tools')).toThrow('line 5: RUN --mount=type=cache,target=/c is not supported');
    expect(() => shapeOf(file, 'none')).toThrow('no stage "none"');
  });

  it('begin with the variables and the shell of the stage that they continue, and with no others', () => {
    const text = 'FROM a AS b\nARG A=1\nENV E=2\nSHELL ["x"]\nFROM b\nRUN y\nCOPY $A $E\nFROM a\nRUN z';
    expect(parseDockerfile(text, { target: '1' }).steps).toMatchObject([
      { type: 'RUN', shell: ['x'] },
      { type: 'COPY', src: '1', dest: '2' },
    ]);
    expect(parseDockerfile(text).steps).toMatchObject([{ shell: ['/bin/sh', '-c'] }]);
  });

  it('that are not built may declare build arguments', () => {
    const text = 'FROM a AS b\nARG A=1 B\nFROM c';
    expect(parseDockerfile(text, { buildArgs: { A: '2', B: '3' } }).stages).toEqual([]);
  });
});

it('copies heredocs as files, with variables unless their delimiter is quoted', () => {
  const lines = 'ARG A=1\nCOPY <<one <<-"two" c /d/\n"$A" \\$A\none\n\t$A\ntwo';
  expect(stepsOf(lines).slice(1)).toMatchObject([
    { src: 'one', dest: '/d/', content: '"1" \\$A\n', user: 'root' },
    { src: 'two', dest: '/d/', content: '$A\n' },
    { src: 'c', dest: '/d/' },
  ]);
});

it('runs the steps of all stages without the cache if asked to, or those that follow the file', () => {
  const text = 'FROM a AS b\nRUN one\nRUN two\nFROM a\nCOPY --from=b / /';
  const forcesOf = (template: TemplateBuilder) => {
    const { stages = [], steps } = template.toJSON();
    return [...stages, { steps }].map((stage) => stage.steps.map(({ force }) => force ?? false));
  };
  expect(forcesOf(Template.fromDockerfile(text, { skipCache: true }).run('x'))).toEqual([
    [true, false],
    [true, false],
  ]);
  expect(forcesOf(Template.fromDockerfile(text).skipCache().run('x'))).toEqual([
    [false, false],
    [false, true],
  ]);
});

it('reads a text of one line or several, and otherwise a path', () => {
  expect(Template.fromDockerfile('FROM debian:13').toJSON()).toMatchObject({ fromImage: 'debian:13' });
  expect(Template.fromDockerfile('\n# c\nFROM a').run('true').toJSON().steps).toHaveLength(1);
  expect(() => Template.fromDockerfile('no/such/Dockerfile')).toThrow(/ENOENT/);
});
