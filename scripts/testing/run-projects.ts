import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Outcome, toOutcome, type VitestReport } from '../project-outcome.ts';
import { runVitest } from './run-vitest.ts';

const root = join(import.meta.dirname, '../..');

/** A part for each of these projects of vitest. */
export function toProjectParts(projects: readonly string[]): Part[] {
  return projects.map((project) => ({ name: project, run: () => runProject(project) }));
}

/** One part of a run of tests. */
export interface Part {
  name: string;
  run: () => Outcome | Promise<Outcome>;
}

function runProject(project: string): Outcome {
  const { status, report } = runVitest<VitestReport>(['--project', project], {
    NODE_COMPILE_CACHE: compileCache,
  });
  return toOutcome({ project, root, status, report });
}

/** The tests start hundreds of servers, helpers and commands from the same sources. */
const compileCache = mkdtempSync(join(tmpdir(), 'skerry-compile-cache-'));
process.once('exit', () => rmSync(compileCache, { recursive: true, force: true }));
