// Starts a web server in a sandbox, and fetches a page from it through the service.
import { setTimeout as sleep } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';

await using sandbox = await Sandbox.create({ timeoutMs: 300_000 });
await sandbox.files.write('site/index.html', '<h1>served from a sandbox</h1>');
const server = await sandbox.commands.run('python3 -m http.server 8000 --directory site', {
  background: true,
  timeoutMs: 0,
});

// Browsers and curl resolve names below localhost; Node asks the system, which may not. The headers name sandbox and port instead.
const url = new URL(process.env.SKERRY_API_URL ?? 'http://localhost:4000');
const headers = { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '8000' };
let response = await fetch(url, { headers });
for (let tries = 0; response.status === 502 && tries < 50; tries += 1) {
  await sleep(100);
  response = await fetch(url, { headers });
}
console.log(response.status, await response.text());
await server.kill();
