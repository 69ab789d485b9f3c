import { describe, expect, it } from 'vitest';
import { Template, type TemplateBuilder } from '../index.ts';
import { parseDockerfile } from './parse-dockerfile.ts';

const stepsOf = (lines: string, buildArgs: Record<string, string> = {}) =>
  parseDockerfile(`FROM debian:13\n${lines}`, { buildArgs }).steps.map((step) => ({
    ...step,
    line: undefined,
  }));

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
      {
        type: 'ENV',
        args: ['PYTHONUNBUFFERED', '1', 'PATH', `/venv/bin:\${PATH}`],
        dockerfile: true,
        line: 5,
      },
      { type: 'WORKDIR', args: ['/srv/app'], dockerfile: true, line: 7 },
      { ...copy, src: 'requirements.txt', dest: './', user: 'root', mode: '', line: 8 },
      {
        type: 'RUN',
        args: ['pip install -r requirements.txt &&     rm requirements.txt'],
        shell: ['/bin/sh', '-c'],
        line: 9,
      },
      { ...copy, src: 'src/', dest: './', user: 'app:app', mode: '0644', line: 12 },
      { ...copy, src: 'tests/', dest: './', user: 'app:app', mode: '0644', line: 12 },
      { type: 'USER', args: ['app'], dockerfile: true, line: 13 },
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

describe('variables', () => {
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
    expect(() => stepsOf('RUN true\nCOPY $http_proxy /', proxies)).toThrow(
      /line 3: the value of \$http_proxy/,
    );
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
    expect(ports('EXPOSE $PORT 80')).toEqual([80]);
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

describe('build arguments', () => {
  it('must be declared by an ARG', () => {
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
RUN --mount=type=ssh true
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
    expect(() => shapeOf(file, 'tools')).toThrow('line 5: RUN --mount=type=ssh is not supported');
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
