import { describe, expect, it } from 'vitest';
import { findTarget, type ImageTarget, parseImageRule, requireDistinct } from './image-map.ts';

const digest = `sha256:${'0'.repeat(64)}`;
const image = (reference: string): ImageTarget => ({ kind: 'image', reference });
const template = (name: string): ImageTarget => ({ kind: 'template', name });

describe('findTarget', () => {
  const rules = [
    'docker.io/*=mirror.example/hub/*',
    'docker.io/library/*=127.0.0.1:5000/official/*',
    'ubuntu:22.04=template:jammy',
    'e2bdev/code-interpreter=template:interpreter:v2',
    'ghcr.io/some/tool:v1=registry.example/tool:v2',
    'quay.io/*=template:base',
  ].map(parseImageRule);

  it.each([
    ['ubuntu:22.04', template('jammy')],
    ['docker.io/library/ubuntu:22.04', template('jammy')],
    ['index.docker.io/ubuntu:22.04', template('jammy')],
    ['ubuntu:24.04', image('127.0.0.1:5000/official/ubuntu:24.04')],
    ['ubuntu', image('127.0.0.1:5000/official/ubuntu:latest')],
    [`ubuntu:22.04@${digest}`, image(`127.0.0.1:5000/official/ubuntu@${digest}`)],
    ['e2bdev/code-interpreter', template('interpreter:v2')],
    ['e2bdev/code-interpreter:latest', template('interpreter:v2')],
    ['e2bdev/code-interpreter:old', image('mirror.example/hub/e2bdev/code-interpreter:old')],
    ['libraryless/x', image('mirror.example/hub/libraryless/x:latest')],
    ['ghcr.io/some/tool:v1', image('registry.example/tool:v2')],
    ['ghcr.io/some/tool', undefined],
    ['quay.io/a/b:c', template('base')],
    [`quay.io/a/b@${digest}`, undefined],
    ['127.0.0.1:5000/official/ubuntu', undefined],
    ['scratch', undefined],
    ['e2bdev/base', undefined],
    ['e2bdev/base:v2', image('mirror.example/hub/e2bdev/base:v2')],
  ])('makes of %s %j', (reference, target) => {
    expect(findTarget(rules, reference)).toEqual(target);
  });

  it('leaves what is no reference as it is', () => {
    expect(findTarget(rules, 'Not/An Image')).toBeUndefined();
  });
});

describe('parseImageRule', () => {
  it.each([
    'ubuntu',
    '=template:a',
    'ubuntu=',
    '*=template:a',
    'docker.io/*=mirror.example/a',
    'ubuntu=mirror.example/*',
    'ubuntu=template:A b',
    'ubuntu=template:',
    'Not An Image=template:a',
    'a*/b=template:a',
    'scratch=template:a',
    'index.docker.io/e2bdev/base=template:a',
  ])('refuses %s', (text) => {
    expect(() => parseImageRule(text)).toThrow(expect.objectContaining({ code: 'invalid_reference' }));
  });

  it('leaves two meanings of one name to be refused', () => {
    const rules = ['ubuntu=template:a', 'docker.io/library/ubuntu:latest=template:b'].map(parseImageRule);
    expect(() => requireDistinct(rules)).toThrow('docker.io/library/ubuntu:latest is mapped twice');
    expect(() => requireDistinct(rules.slice(1))).not.toThrow();
  });
});
