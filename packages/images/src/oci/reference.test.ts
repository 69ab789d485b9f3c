import { describe, expect, it } from 'vitest';
import { isAllowedUrl, parseReference } from './reference.ts';

const digest = `sha256:${'0a'.repeat(32)}`;

describe('parseReference', () => {
  it.each([
    ['debian', 'https://registry-1.docker.io', 'library/debian', 'latest'],
    ['docker.io/debian:12', 'https://registry-1.docker.io', 'library/debian', '12'],
    ['someone/image:v1.0', 'https://registry-1.docker.io', 'someone/image', 'v1.0'],
    ['ghcr.io/a/b/c', 'https://ghcr.io', 'a/b/c', 'latest'],
    ['localhost/a', 'http://localhost', 'a', 'latest'],
    ['127.0.0.1:5000/a:b', 'http://127.0.0.1:5000', 'a', 'b'],
    ['[::1]:5000/a', 'http://[::1]:5000', 'a', 'latest'],
    ['registry.example:5000/a:b', 'https://registry.example:5000', 'a', 'b'],
    [`ghcr.io/a/b:tag@${digest}`, 'https://ghcr.io', 'a/b', digest],
  ])('reads %s', (text, baseUrl, repository, version) => {
    expect(parseReference(text)).toEqual({ baseUrl, repository, version });
  });

  it.each([
    '',
    'UPPER',
    'a//b',
    '../etc',
    'a:',
    'a:b:c',
    'a@sha256:12',
    `a@${digest}@${digest}`,
    'host.example/../a',
    'user@host.example/a',
    'host.example:999999/a',
    'https://host.example/a',
    `${'a/'.repeat(300)}a`,
  ])('refuses %s', (text) => {
    expect(() => parseReference(text)).toThrow(expect.objectContaining({ code: 'invalid_reference' }));
  });
});

describe('isAllowedUrl', () => {
  it.each([
    ['https://registry.example/v2/', true],
    ['http://127.0.0.1:5000/v2/', true],
    ['http://[::1]/', true],
    ['http://registry.example/', false],
    ['http://127.0.0.1.registry.example/', false],
    ['http://169.254.169.254/latest', false],
    ['file:///etc/passwd', false],
  ])('%s: %s', (url, allowed) => {
    expect(isAllowedUrl(new URL(url))).toBe(allowed);
  });
});
