import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Benchmark } from '../harness/benchmark.ts';
import { toRow, toUnmeasuredRow } from '../report/row.ts';
import { findContainerPrograms } from './container-programs.ts';
import { timeFirstOutput } from './time-first-output.ts';

/** `runc run` of `echo` on the base image, read-only, with the settings of `runc spec`: no disk, no network, no service. */
export const runcRun: Benchmark = async ({ name, runs, stack, installsReferences, resources }) => {
  const programs = await findContainerPrograms({
    names: ['runc'],
    packages: ['runc'],
    installs: installsReferences,
    resources,
  });
  if ('missing' in programs) return [toUnmeasuredRow({ name, unit: 'ms', reason: programs.missing })];
  const bundle = mkdtempSync(join(tmpdir(), 'skerry-runc-'));
  resources.defer(() => rmSync(bundle, { recursive: true, force: true }));
  await promisify(execFile)('runc', ['spec', '--bundle', bundle], {
    env: { ...process.env, ...programs.env },
  });
  const path = join(bundle, 'config.json');
  const config = JSON.parse(readFileSync(path, 'utf8'));
  config.root = { path: await stack.baseRootfs(resources), readonly: true };
  Object.assign(config.process, { terminal: false, args: ['echo', 'ready'] });
  writeFileSync(path, JSON.stringify(config));
  const samples: number[] = [];
  for (let run = -1; run < runs; run += 1) {
    const args = ['--root', join(bundle, 'state'), 'run', '--bundle', bundle, `skerry-${randomUUID()}`];
    const elapsedMs = await timeFirstOutput({ file: 'runc', args, env: programs.env });
    if (run >= 0) samples.push(elapsedMs);
  }
  return [toRow({ name, unit: 'ms', samples })];
};
