import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** A change of a spec that a program written for the last release does not survive. */
export interface BreakingChange {
  /** What a changeset has to say, in backquotes, to let it pass. */
  name: string;
  /** The words for people. */
  message: string;
}

const tools = join(import.meta.dirname, '../node_modules/.bin');

/** Compares two OpenAPI documents. Redocly rates each change by the version that it asks for. */
export function compareDocuments(base: string, revision: string): BreakingChange[] {
  const report = run('redocly', ['diff', base, revision, '--format', 'json', '--fail-on', 'none']);
  const { changes } = JSON.parse(report.slice(report.indexOf('{'))) as {
    changes: {
      path: string;
      verdicts: { ruleId: string; impact: string; message: string }[];
    }[];
  };
  return changes.flatMap(({ path, verdicts }) =>
    verdicts
      .filter(({ impact }) => impact === 'major')
      .map(({ ruleId, message }) => ({ name: `${ruleId} ${toPlace(path)}`, message })),
  );
}

/** Compares two folders of protocol buffers by the rules of `specs/buf.yaml`. */
export function compareProtos(base: string, revision: string): BreakingChange[] {
  const report = run('buf', ['breaking', revision, '--against', base, '--error-format', 'json'], [0, 100]);
  return report
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { type, message, path } = JSON.parse(line) as { type: string; message: string; path?: string };
      const subjects = [...message.matchAll(/"([^"]+)"/g)].map(([, subject]) => subject);
      return { name: `${type} ${subjects.slice(0, 3).join(' ')}`, message: `${path ?? base}: ${message}` };
    });
}

/** The changes whose names stand in no text. */
export function findUnnamed(changes: BreakingChange[], texts: string[]): BreakingChange[] {
  return changes.filter(({ name }) => !texts.some((text) => text.includes(`\`${name}\``)));
}

/** `#/paths/~1sandboxes/get` → `paths /sandboxes get` */
function toPlace(pointer: string): string {
  return pointer
    .replace(/^#\//, '')
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join(' ');
}

function run(tool: string, argv: string[], allowed = [0]): string {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const result = spawnSync(join(tools, tool), argv, { encoding: 'utf8', env, maxBuffer: 64 << 20 });
  if (result.error) throw result.error;
  if (!allowed.includes(result.status ?? -1))
    throw new Error(`${tool} ended with ${result.status}: ${result.stderr}${result.stdout}`);
  return result.stdout;
}
