import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build as buildTemplate, type RegistryCredentials, Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';
import { type LoginRegistry, startLoginRegistry } from './login-registry.ts';

let stack: Stack;
let registry: DebianRegistry;
let login: LoginRegistry;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-logins-'));
const key = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'a-secret-key-of-this-test',
  region: 'eu-west-1',
};
const tokenOfAws = 'a-token-of-this-test';
const serviceAccountJson = '{"type":"service_account","private_key":"a-private-key-of-this-test"}';

beforeAll(async () => {
  registry = await startDebianRegistry();
  const busybox = makeBusyboxFolder(['sh', 'cat']);
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  rmSync(busybox, { recursive: true });
  const accounts = { AWS: tokenOfAws, _json_key: serviceAccountJson };
  login = await startLoginRegistry({ behind: registry.host, accounts, key });
  const args = ['--registry', login.host, '--ecr-endpoint', `http://${login.host}`];
  stack = await startStack({ dataDir, args });
});
afterAll(async () => {
  await stack.down();
  await login[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

it('a template is built with an access key of AWS or the key of a service account, which appear nowhere', async () => {
  const messages: string[] = [];
  const pull = async (name: string, credentials: RegistryCredentials): Promise<unknown> => {
    const template = Template().fromImage(`${login.host}/test/busybox`, { credentials });
    const building = buildTemplate(template, name, stack.connection);
    for await (const { message } of building) messages.push(message);
    return building.result();
  };
  const aws = {
    awsAccessKeyId: key.accessKeyId,
    awsSecretAccessKey: key.secretAccessKey,
    awsRegion: key.region,
  };
  await pull('of-aws', aws);
  await pull('of-gcp', { serviceAccountJson });
  const refused = async (credentials: RegistryCredentials): Promise<string> =>
    pull('refused', credentials).then(
      () => 'built',
      (error: Error) => error.message,
    );
  expect(await refused({ ...aws, awsSecretAccessKey: 'another-key-of-this-test' })).toBe(
    `${login.host} issues no token for the AWS credentials: 400 UnrecognizedClientException`,
  );
  expect(await refused({ serviceAccountJson: '{"private_key":"another-key-of-this-test"}' })).toBe(
    `http://${login.host}: test/busybox/manifests/latest was answered with 401: the registry does not accept the credentials`,
  );
  expect(messages.join('\n')).not.toContain('-of-this-test');
  expect(stack.log()).not.toContain('-of-this-test');
  for (const name of readdirSync(dataDir).filter((file) => file.startsWith('skerry.db')))
    expect(readFileSync(join(dataDir, name)).includes('-of-this-test')).toBe(false);
});
