// Tries the attacks of packages/testkit/src/attacks on the real service, those of a node on another in packages/runtime and one of many
// builds in packages/platform, and prints a table of what stopped each: pnpm test:attacks
// With --write, puts the table into docs/security.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AttackRow } from '../packages/runtime/src/suite/attack-row.ts';
import { type TriedAttack, toAttackTable } from '../packages/testkit/src/attacks/attack-table.ts';
import { replaceSection } from '../packages/testkit/src/hosts/marked-section.ts';
import { runVitest } from './testing/run-vitest.ts';

/** The used part of vitest's json report. */
interface Report {
  testResults: { assertionResults: { status: string; meta: { attacks?: AttackRow[] } }[] }[];
}

const page = join(import.meta.dirname, '../docs/security.md');
const [flag, ...others] = process.argv.slice(2);
if (others.length > 0 || (flag !== undefined && flag !== '--write'))
  throw new Error('the only option is --write');

/** What another host tries needs no service. */
const drivers = 'packages/runtime/src/drivers';
const { status, report } = await runVitest<Report>([
  ...['unit', 'drivers', 'stack', 'long'].flatMap((project) => ['--project', project]),
  'packages/testkit/src/attacks',
  'packages/platform/src/templates/template-builder.test.ts',
  'packages/runtime/src/node/node-snapshots.test.ts',
  `${drivers}/check-file-system.driver.test.ts`,
  `${drivers}/oci/container/null-device.driver.test.ts`,
  `${drivers}/oci/criu/images/require-confined.driver.test.ts`,
  `${drivers}/oci/snapshots/blob-copies/snapshot-copies.driver.long.test.ts`,
]);
const tests = (report?.testResults ?? []).flatMap(({ assertionResults }) => assertionResults);
const tried: TriedAttack[] = tests.flatMap(({ status: outcome, meta }) =>
  (meta.attacks ?? []).map((row) => ({ ...row, failed: outcome !== 'passed' })),
);
const table = toAttackTable(tried);
const passed = tests.filter((test) => test.status === 'passed').length;
console.log(`\n${table}\n\n${passed} of ${tests.length} tests passed`);
// A table of part of the attacks would say that the others are not tried.
if (flag === '--write' && status === 0 && tests.length > 0)
  writeFileSync(page, replaceSection(readFileSync(page, 'utf8'), { name: 'attacks', content: table }));
process.exit(tests.length === 0 ? 1 : (status ?? 1));
