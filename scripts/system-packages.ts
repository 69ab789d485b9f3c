// Makes sure that the host has the programs that a server runs, with `--tests` those of the tests too, with `--more` those of
// `pnpm test:more`. On Debian and Ubuntu as root it installs missing ones after it has named them, and unpacks servers that tests
// start, and libraries that tests copy into sandboxes, into a folder of the checkout; elsewhere it prints the command to run and fails.
import { parseArgs } from 'node:util';
import { findServerProgram, serverPrograms } from '../packages/platform/src/testing/server-program.ts';
import {
  findSandboxPackage,
  sandboxPackages,
  unpackedPackages,
} from '../packages/platform/src/testing/unpacked-packages.ts';
import { installPackages, planInstall, refreshLists } from './debian/apt.ts';
import { findMissing, isInstalled } from './debian/find-missing.ts';
import { ofMore, ofServer, ofTests } from './debian/package-lists.ts';
import { unpackForSandboxes, unpackServer } from './debian/unpack.ts';

/** Programs that only long tests and benchmarks start. */
const onlyOfMore: ReadonlySet<string> = new Set([
  'chromium',
  'knot',
  'libnss3-tools',
  'nghttp2-client',
  'nginx',
  'pebble',
]);

const { values } = parseArgs({ options: { tests: { type: 'boolean' }, more: { type: 'boolean' } } });
const isForTests = values.tests || values.more;
const missing = findMissing({ ...ofServer, ...(isForTests && ofTests), ...(values.more && ofMore) });
const servers = (Object.keys(serverPrograms) as (keyof typeof serverPrograms)[]).filter(
  (name) => isForTests && (!onlyOfMore.has(name) || values.more) && findServerProgram(name) === undefined,
);
const libraries = (Object.keys(sandboxPackages) as (keyof typeof sandboxPackages)[]).filter(
  (name) => values.more && findSandboxPackage(name) === undefined,
);

try {
  if (missing.length + servers.length + libraries.length > 0) bringMissing();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

function bringMissing(): void {
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) {
    const install = `apt-get update && apt-get install -y --no-install-recommends ${missing.join(' ')}`;
    const how = missing.length > 0 ? `Run as root:\n  ${install}` : 'Run this as root once';
    throw new Error(
      `skerry needs these programs on the host: ${[...missing, ...servers, ...libraries].join(', ')}. ${how}`,
    );
  }
  refreshLists();
  if (missing.length > 0) {
    const { names, download, disk } = planInstall(missing);
    console.error(
      `installing Debian packages, ${download} to fetch and ${disk} on the disk: ${names.join(' ')}`,
    );
    installPackages(missing);
  }
  for (const name of [...servers, ...libraries]) {
    console.error(`unpacking ${name} into .toolchain/debian, for tests; it is not installed`);
    if (name in sandboxPackages) unpackForSandboxes(name, unpackedPackages);
    else unpackServer(name, unpackedPackages);
  }
}
