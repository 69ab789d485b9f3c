// Programs of users, as text: each is written to a project of its own that has only what the registry serves.

/** Makes a sandbox with the SDK, runs a command in it and prints what it said. Plain JavaScript. */
export const useSdk = `const sandbox = await Sandbox.create({ timeoutMs: 60_000 });
try {
  const { stdout } = await sandbox.commands.run('echo from a sandbox');
  console.log(stdout.trim());
} finally {
  await sandbox.kill();
}
`;

export const esModule = `import { Sandbox } from '@skerry/sdk';\n${useSdk}`;

export const commonJs = `const { Sandbox } = require('@skerry/sdk');
void (async () => {
${useSdk}})();
`;

/** Compiled by the strictest rules, with declarations checked. */
export const typeScript = `import { createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import { ProcessConfigSchema } from '@skerry/envd-client/process';
import { createPlatformClient, type Sandbox as ListedSandbox } from '@skerry/platform-client';
import { Sandbox, type SandboxInfo } from '@skerry/sdk';

const platform = createPlatformClient({ baseUrl: process.env.SKERRY_API_URL ?? '', apiKey: process.env.SKERRY_API_KEY ?? '' });
const { data, error } = await platform.POST('/v2/sandboxes', { body: { templateID: 'base', timeout: 60 } });
if (!data) throw new Error(error.message);
const made: ListedSandbox = data;
const agent: EnvdClient = createEnvdClient({
  baseUrl: process.env.SKERRY_API_URL ?? '',
  accessToken: made.envdAccessToken,
  headers: { 'E2b-Sandbox-Id': made.sandboxID, 'E2b-Sandbox-Port': '49983' },
});
await agent.process.list({});
const sandbox = await Sandbox.connect(made.sandboxID);
const info: SandboxInfo = await sandbox.getInfo();
const { stdout } = await sandbox.commands.run('echo from a sandbox');
await sandbox.kill();
if (ProcessConfigSchema.typeName !== 'process.ProcessConfig' || info.sandboxId !== made.sandboxID) throw new Error('wrong');
console.log(stdout.trim());
`;

/** Runs in a web page, which has its settings from the address, and writes the result into the document. */
export const webPage = `import { Sandbox } from '@skerry/sdk';
const { apiUrl, apiKey } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const show = (text) => document.body.append(Object.assign(document.createElement('output'), { textContent: text }));
const main = async () => {
  const sandbox = await Sandbox.create({ apiUrl, apiKey, timeoutMs: 60_000 });
  const { stdout } = await sandbox.commands.run('echo from a sandbox');
  await sandbox.kill();
  return stdout.trim();
};
addEventListener('load', () => main().then(show, (error) => show('failed: ' + error.stack)));
`;
