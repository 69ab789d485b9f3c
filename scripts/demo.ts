// Starts skerry, creates a sandbox through its real API, runs code in it and prints the results. Fails when any step
// is wrong. Ctrl-C ends the server and all sandboxes.
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { createReport } from './demo/report.ts';
import { endService, startService } from './demo/service.ts';
import { demoSteps } from './demo/steps.ts';

const root = join(import.meta.dirname, '..');
const place = { root, dataDir: join(root, '.skerry/demo') };
const report = createReport();
process.exitCode = 1;

let ending: Promise<void> | undefined;
const end = (): Promise<void> => {
  ending ??= existsSync(place.dataDir) ? endService(place) : Promise.resolve();
  return ending;
};
let stoppedBy: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    stoppedBy ??= signal;
    report.end('stopped: the server ends with its sandboxes');
    void end().finally(() => process.exit(128 + constants.signals[signal]));
  });

async function show(): Promise<void> {
  // The full base template takes a minute more to make, and the demo uses none of its tools.
  const service = await report.step('start skerry, with the minimal base template', () =>
    startService({ ...place, imagesDir: join(root, '.skerry/images'), onProgress: report.say }),
  );
  try {
    const { apiUrl, apiKey, domain, sandboxUrl } = service;
    const sandbox = await report.step('create a sandbox', () =>
      Sandbox.create({
        ...{ apiUrl, apiKey, domain, sandboxUrl },
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
    await report.step('skerry down', end);
  }
  report.summary();
  process.exitCode = 0;
}

try {
  await show();
} catch (error) {
  // What a stopped demo has left undone is no failure.
  if (stoppedBy === undefined) throw error;
}
