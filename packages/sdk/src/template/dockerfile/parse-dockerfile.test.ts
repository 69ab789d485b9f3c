import { describe, expect, it } from 'vitest';
import { Template } from '../index.ts';
import { parseDockerfile } from './parse-dockerfile.ts';
import { DockerfileError } from './refused.ts';

/** The steps after the two that every Dockerfile begins with. */
const stepsOf = (lines: string, buildArgs: Record<string, string> = {}) =>
  parseDockerfile(`FROM debian:13\n${lines}`, buildArgs)
    .steps.slice(2)
    .map((step) => ({ ...step, line: undefined }));
const sh = (command: string) => ({ type: 'RUN', args: [`/bin/sh -c '${command}'`] });

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
  const copy = { type: 'COPY', layout: 'flat' };
  expect(parseDockerfile(text, { VERSION: '3.14' })).toEqual({
    source: { kind: 'image', image: 'python:3.14-slim', credentials: undefined },
    steps: [
      { type: 'USER', args: ['root'], line: 3 },
      { type: 'WORKDIR', args: ['/'], line: 3 },
      { type: 'ENV', args: ['PYTHONUNBUFFERED', '1', 'PATH', `/venv/bin:\${PATH}`], line: 5 },
      { type: 'WORKDIR', args: ['/srv/app'], line: 7 },
      { ...copy, src: 'requirements.txt', dest: './', user: 'root', mode: '', line: 8 },
      {
        type: 'RUN',
        args: ["/bin/sh -c 'pip install -r requirements.txt &&     rm requirements.txt'"],
        line: 9,
      },
      { ...copy, src: 'src/', dest: './', user: 'app:app', mode: '0644', line: 12 },
      { ...copy, src: 'tests/', dest: './', user: 'app:app', mode: '0644', line: 12 },
      { type: 'USER', args: ['app'], line: 13 },
    ],
    startCommand: "python -m app --name 'two words'",
    readyCommand: 'curl -f http://localhost:8000/',
  });
});

describe('RUN', () => {
  it('is run by the shell of the file, or as the words of its JSON form', () => {
    expect(stepsOf('RUN ["echo", "$HOME", "a b"]')).toEqual([{ type: 'RUN', args: ["echo '$HOME' 'a b'"] }]);
    expect(stepsOf('SHELL ["/bin/bash", "-euc"]\nRUN false | true')).toEqual([
      { type: 'RUN', args: ["/bin/bash -euc 'false | true'"] },
    ]);
    expect(stepsOf("RUN echo 'it'")).toEqual([{ type: 'RUN', args: [`/bin/sh -c 'echo '\\''it'\\'''`] }]);
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

  it('from before FROM are known after it only when they are declared again', () => {
    const file = 'ARG V=13\nFROM debian:$V\nARG V\nCOPY $V /v';
    expect(parseDockerfile(file, {}).steps.slice(2)).toMatchObject([
      { type: 'ARG', args: ['V', '13'] },
      { type: 'COPY', src: '13' },
    ]);
    expect(() => parseDockerfile('ARG V=13\nFROM debian:$V\nCOPY $V /v', {})).toThrow(/line 3: .*\$V is not/);
  });
});

describe('the start command', () => {
  const startOf = (lines: string) => parseDockerfile(`FROM a\n${lines}`, {}).startCommand;

  it('is ENTRYPOINT with CMD, as Docker joins them', () => {
    expect(startOf('CMD python app.py')).toBe("/bin/sh -c 'python app.py'");
    expect(startOf('CMD ["a"]\nCMD ["b"]')).toBe('b');
    expect(startOf('ENTRYPOINT exec top -b\nCMD ["ignored"]')).toBe("/bin/sh -c 'exec top -b'");
    expect(startOf('ENTRYPOINT ["run"]\nCMD x y')).toBe("run /bin/sh -c 'x y'");
    expect(startOf('CMD []')).toBeUndefined();
    expect(startOf('RUN true')).toBeUndefined();
  });

  it('is ready as HEALTHCHECK says, unless that is NONE', () => {
    const ready = (lines: string) => parseDockerfile(`FROM a\n${lines}`, {}).readyCommand;
    expect(ready('HEALTHCHECK --retries=3 CMD curl -f http://x || exit 1')).toBe(
      "/bin/sh -c 'curl -f http://x || exit 1'",
    );
    expect(ready('HEALTHCHECK CMD true\nHEALTHCHECK NONE')).toBeUndefined();
  });
});

it('joins continued lines without comments and empty lines between them', () => {
  expect(stepsOf('RUN apt-get install \\  \n  # why\n\n   a \\\n# and\n  b\nRUN c d')).toEqual([
    sh('apt-get install    a   b'),
    sh('c d'),
  ]);
  expect(parseDockerfile('# escape=`\nFROM a\nRUN dir `\n x', {}).steps.at(-1)).toMatchObject(sh('dir  x'));
});

it('makes the folders of VOLUME as root', () => {
  expect(stepsOf('VOLUME ["/a b", "/c"]')).toEqual([
    { type: 'RUN', args: ["mkdir -p -- '/a b' /c", 'root'] },
  ]);
});

describe('what a template cannot express', () => {
  it.each([
    ['COPY --from=build /a /b', 2, 'COPY --from'],
    ['RUN true\nFROM other', 3, 'second FROM'],
    ['RUN --mount=type=cache,target=/x true', 2, 'RUN --mount'],
    ['RUN <<EOF\n#!/usr/bin/env python3\nEOF', 2, '#!'],
    ['RUN <<EOF\necho', 2, 'heredoc EOF has no end'],
    ['COPY <<EOF /a\nhi\nEOF', 2, 'heredoc'],
    ['ADD <<EOF /a\nhi\nEOF', 2, 'heredoc'],
    ['COPY --chmod=u+x a b', 2, 'octal'],
    ['COPY a b c', 2, 'must end with "/"'],
    ['COPY a', 2, 'a source and a destination'],
    ['ADD https://example.com/a /a', 2, 'URL'],
    ['ADD a.tar.gz /a', 2, 'archive'],
    ['ONBUILD RUN true', 2, 'ONBUILD'],
    ['USER 1000:1000', 2, 'USER'],
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
    ['FROM scratch', 'scratch'],
    ['RUN true', 'before FROM'],
    ['# nothing', 'no FROM'],
    ['FROM a b c', 'FROM must be'],
  ])('is refused before its steps: %s', (text, message) => {
    expect(() => parseDockerfile(text, {})).toThrow(message);
  });

  it('includes a build argument that no ARG declares', () => {
    expect(() => stepsOf('ARG A', { A: '1', B: '2' })).toThrow('no ARG for the build arguments B');
  });
});

it('reads a text of one line or several, and otherwise a path', () => {
  expect(Template.fromDockerfile('FROM debian:13').toJSON()).toMatchObject({ fromImage: 'debian:13' });
  expect(Template.fromDockerfile('\n# c\nFROM a').run('true').toJSON().steps).toHaveLength(3);
  expect(() => Template.fromDockerfile('no/such/Dockerfile')).toThrow(/ENOENT/);
});
