// Starts skerry, creates a sandbox through its real API, runs code in it and prints the results. Fails when any step
// is wrong.
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { createReport } from './demo/report.ts';
import { startService } from './demo/service.ts';
import { demoSteps } from './demo/steps.ts';

const root = join(import.meta.dirname, '..');
const report = createReport();
process.exitCode = 1;

// The full one takes a minute more to make, and the demo uses none of its tools.
const service = await report.step('start skerry, with the minimal base template', () =>
  startService({
    root,
    dataDir: join(root, '.skerry/demo'),
    imagesDir: join(root, '.skerry/images'),
    onProgress: report.say,
  }),
);
try {
  const sandbox = await report.step('create a sandbox', () =>
    Sandbox.create({
      apiUrl: service.apiUrl,
      apiKey: service.apiKey,
      domain: service.domain,
      sandboxUrl: service.sandboxUrl,
      metadata: { purpose: 'demo' },
      timeoutMs: 120_000,
    }),
  );
  for (const [title, run] of Object.entries(demoSteps)) {
    await report.step(title, () => run({ sandbox, service, say: report.say }));
  }
  await report.step('kill it', async () => {
    if (!(await sandbox.kill())) throw new Error('the sandbox to kill was gone');
    if (await sandbox.isRunning()) throw new Error('it still runs');
  });
} finally {
  await report.step('skerry down', () => service.down());
}
report.summary();
process.exitCode = 0;
