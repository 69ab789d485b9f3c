import { strict as assert } from 'node:assert';
import { Sandbox } from '@skerry/sdk';
import { build, Template, waitForPort } from '@skerry/sdk/template';
import type { DemoContext } from './demo-context.ts';
import { requestHost } from './host-request.ts';

/** Builds a template whose server runs in each sandbox from its first moment, and prints its log. */
export async function buildTemplate({ service, say }: DemoContext): Promise<void> {
  // An ordinary user can mount no image.
  if (process.getuid?.() !== 0) return say('templates are built as root only');
  const template = Template()
    .fromTemplate('base')
    .workdir('/srv/www')
    .run('echo "<h1>built</h1>" > index.html')
    .start('python3 -m http.server 8000', { ready: waitForPort(8000) });
  const handle = build(template, 'demo', { ...service, cpuCount: 1, memoryMb: 256 });
  for await (const { step, message } of handle) say(`${step ?? ''}`.padEnd(9) + message);
  await handle.result();
  const sandbox = await Sandbox.create({ ...service, template: 'demo', timeoutMs: 60_000 });
  try {
    const page = await requestHost(`http://${sandbox.getHost(8000)}/`);
    say(`a sandbox of it answered ${page.status}: ${page.body.trim()}`);
    assert.deepEqual(page, { status: 200, body: '<h1>built</h1>\n' });
  } finally {
    await sandbox.kill();
  }
}
