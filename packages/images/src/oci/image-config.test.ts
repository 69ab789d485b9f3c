import { describe, expect, it } from 'vitest';
import { parseImageConfig } from './image-config.ts';

const parse = (config: object) => parseImageConfig(Buffer.from(JSON.stringify({ config })));

describe('parseImageConfig', () => {
  it.each([
    ['its words', { Test: ['CMD', 'curl', '-f', 'a b'] }, ['curl', '-f', 'a b']],
    ['a shell', { Test: ['CMD-SHELL', 'curl -f x || exit 1'] }, ['/bin/sh', '-c', 'curl -f x || exit 1']],
    ['nothing where it is switched off', { Test: ['NONE'] }, []],
    ['nothing where only its intervals are set', { Interval: 1 }, []],
    ['nothing without one', null, []],
  ])('reads the health check as %s', (_, Healthcheck, words) => {
    expect(parse({ Healthcheck }).healthcheck).toEqual(words);
  });

  it('runs a health check in the shell of the image', () => {
    const Shell = ['/bin/bash', '-ec'];
    expect(parse({ Shell, Healthcheck: { Test: ['CMD-SHELL', 'true'] } }).healthcheck).toEqual([
      ...Shell,
      'true',
    ]);
  });

  it.each([
    [{ Test: ['CMD'] }],
    [{ Test: ['CMD-SHELL', 'a', 'b'] }],
    [{ Test: ['EXEC', 'a'] }],
    [{ Test: 'a' }],
  ])('refuses the health check %j', (Healthcheck) => {
    expect(() => parse({ Healthcheck })).toThrow(/health check of another form/);
  });

  it('reads the TCP ports that it exposes, each once', () => {
    const ExposedPorts = { '80/tcp': {}, '443': {}, '80': {}, '53/udp': {}, '70000/tcp': {}, '0': {}, x: {} };
    expect(parse({ ExposedPorts }).exposedPorts.toSorted((a, b) => a - b)).toEqual([80, 443]);
    expect(parse({ ExposedPorts: null }).exposedPorts).toEqual([]);
    for (const of of [[80], '80', 80])
      expect(() => parse({ ExposedPorts: of })).toThrow(/exposed ports of another form/);
  });

  it('reads instructions for images that are built on it', () => {
    expect(parse({ OnBuild: ['COPY . /app', 'RUN make'] }).onbuild).toEqual(['COPY . /app', 'RUN make']);
    expect(parse({ OnBuild: null }).onbuild).toEqual([]);
    expect(() => parse({ OnBuild: [1] })).toThrow(/instructions for others of another form/);
  });
});
