import { expect, it } from 'vitest';
import { Template, waitForPort } from './index.ts';

it('collects the steps of a template in order', () => {
  const template = Template()
    .fromImage('python:3.13-slim')
    .user('root')
    .run(['apt-get update', 'apt-get install -y git'])
    .workdir('/srv/app')
    .env({ A: '1', B: '$A' })
    .copy(['src', 'tests/*.py'], 'app/', { user: 'app:app', mode: 0o644 })
    .run('pip install .', { user: 'app' })
    .start('python -m app', { ready: waitForPort(8000) });
  expect(JSON.parse(JSON.stringify(template))).toEqual({
    fromImage: 'python:3.13-slim',
    steps: [
      { type: 'USER', args: ['root'] },
      { type: 'RUN', args: ['apt-get update'] },
      { type: 'RUN', args: ['apt-get install -y git'] },
      { type: 'WORKDIR', args: ['/srv/app'] },
      { type: 'ENV', args: ['A', '1', 'B', '$A'] },
      { type: 'COPY', args: ['src', 'app/', 'app:app', '0644'] },
      { type: 'COPY', args: ['tests/*.py', 'app/', 'app:app', '0644'] },
      { type: 'RUN', args: ['pip install .', 'app'] },
    ],
    startCmd: 'python -m app',
    readyCmd: waitForPort(8000),
  });
});

it('changes no template that others begin with', () => {
  const common = Template().fromTemplate('base').run('true');
  const [one, two] = [common.run('echo one'), common.run('echo two')];
  expect([common, one, two].map((template) => template.toJSON().steps.length)).toEqual([1, 2, 2]);
  expect(two.toJSON().steps[1]?.args).toEqual(['echo two']);
});

it('shows no credentials', () => {
  const template = Template().fromImage('a', { credentials: { username: 'me', password: 'secret-word' } });
  expect(JSON.stringify(template)).not.toContain('secret-word');
});

it('refuses empty values and modes that are not octal', () => {
  const template = Template().fromTemplate('base');
  expect(() => Template().fromImage('')).toThrow('image must not be empty');
  expect(() => template.run(['true', ''])).toThrow('command must not be empty');
  expect(() => template.copy('a', '')).toThrow('dest must not be empty');
  expect(() => template.copy('a', 'b', { mode: 'u+x' })).toThrow('mode must be octal');
});
