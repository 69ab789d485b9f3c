import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDockerCredentials } from './find-credentials.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'skerry-docker-config-'));
  mkdirSync(join(home, '.docker'));
  mkdirSync(join(home, 'bin'));
});
afterEach(() => rmSync(home, { recursive: true }));

const toAuth = (user: string, password: string) => ({ auth: btoa(`${user}:${password}`) });
const writeConfig = (config: unknown): void =>
  writeFileSync(
    join(home, '.docker/config.json'),
    typeof config === 'string' ? config : JSON.stringify(config),
  );
/** A helper that notes what it is asked for. */
const writeHelper = (name: string, script: string): void => {
  const path = join(home, 'bin', `docker-credential-${name}`);
  writeFileSync(path, `#!/bin/sh\nread registry\n${script}\n`);
  chmodSync(path, 0o755);
};
const find = (image: string, env: NodeJS.ProcessEnv = {}) =>
  findDockerCredentials(image, { env: { PATH: `${join(home, 'bin')}:/usr/bin:/bin`, ...env }, home });

describe('findDockerCredentials', () => {
  it('finds none without a configuration', async () => {
    expect(await find('ghcr.io/a/b')).toBeUndefined();
    rmSync(join(home, '.docker'), { recursive: true });
    expect(await find('ghcr.io/a/b')).toBeUndefined();
  });

  it.each([
    ['ubuntu', 'hub'],
    ['docker.io/some/image:v1', 'hub'],
    ['index.docker.io/some/image', 'hub'],
    ['ghcr.io/a/b', 'ghcr'],
    ['quay.io/a/b', 'quay:with:colons'],
    ['127.0.0.1:5000/a', 'local'],
    ['127.0.0.1:5001/a', undefined],
    ['ghcr.io.example/a', undefined],
    ['scratch', undefined],
    ['e2bdev/base', undefined],
    ['Not/An Image', undefined],
  ])('has for %s the password %s of auths', async (image, password) => {
    writeConfig({
      auths: {
        'https://index.docker.io/v1/': toAuth('me', 'hub'),
        'ghcr.io': { username: 'me', password: 'ghcr' },
        'https://quay.io/v2/': toAuth('me', 'quay:with:colons'),
        '127.0.0.1:5000': toAuth('me', 'local'),
        'empty.example': {},
      },
    });
    expect(await find(image)).toEqual(password && { username: 'me', password });
    expect(await find('empty.example/a')).toBeUndefined();
  });

  it('asks the helper of a registry, and the store for all others', async () => {
    writeConfig({
      auths: { 'ghcr.io': toAuth('me', 'unused') },
      credHelpers: { 'ghcr.io': 'one' },
      credsStore: 'all',
    });
    writeHelper(
      'one',
      'echo "{\\"ServerURL\\":\\"x\\",\\"Username\\":\\"one\\",\\"Secret\\":\\"$registry\\"}"',
    );
    writeHelper(
      'all',
      'case $registry in http*) echo "{\\"Username\\":\\"$1\\",\\"Secret\\":\\"$registry\\"}";; *) echo credentials not found in native keychain; exit 1;; esac',
    );
    expect(await find('ghcr.io/a/b')).toEqual({ username: 'one', password: 'ghcr.io' });
    expect(await find('ubuntu')).toEqual({ username: 'get', password: 'https://index.docker.io/v1/' });
    expect(await find('quay.io/a/b')).toBeUndefined();
  });

  it('reads the folder DOCKER_CONFIG in place of the one in the home', async () => {
    writeConfig({ auths: { 'ghcr.io': toAuth('me', 'home') } });
    mkdirSync(join(home, 'other'));
    writeFileSync(
      join(home, 'other/config.json'),
      JSON.stringify({ auths: { 'ghcr.io': toAuth('me', 'other') } }),
    );
    expect(await find('ghcr.io/a', { DOCKER_CONFIG: join(home, 'other') })).toMatchObject({
      password: 'other',
    });
  });

  it.each([
    ['fails', 'echo hunter2 with status; exit 3', 'docker-credential-x failed for ghcr.io with status 3'],
    ['prints no JSON', 'echo hunter2', 'docker-credential-x printed no user name and secret for ghcr.io'],
    ['has a token', `echo '{"Username":"<token>","Secret":"hunter2"}'`, 'identity token for ghcr.io'],
  ])('reports a helper that %s, without what it printed', async (_, script, message) => {
    writeConfig({ credHelpers: { 'ghcr.io': 'x' } });
    writeHelper('x', script);
    const error: Error = await find('ghcr.io/a').then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('hunter2');
  });

  it.each([
    [{ credsStore: 'missing' }, 'docker-credential-missing is not on PATH'],
    [{ credsStore: '../x' }, '"../x" is no name of a credential helper'],
    [{ auths: { 'ghcr.io': { identitytoken: 'hunter2' } } }, 'has a token that cannot be used'],
    [
      { auths: { 'ghcr.io': { auth: btoa('hunter2') } } },
      'has an "auth" that is no user name with a password',
    ],
    [{ auths: { 'ghcr.io': { auth: ['hunter2'] } } }, 'config.json is no configuration of Docker'],
    [{ auths: 'hunter2' }, 'config.json is no configuration of Docker'],
    ['{"auths": hunter2', 'config.json is no configuration of Docker'],
  ])('refuses %j without showing a secret', async (config, message) => {
    writeConfig(config);
    const error: Error = await find('ghcr.io/a').then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('hunter2');
  });
});
