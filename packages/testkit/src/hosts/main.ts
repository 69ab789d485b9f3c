// Runs skerry on other hosts, as guests under emulation: pnpm test:hosts --help
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type LabArguments, parseLabArguments } from './arguments.ts';
import { ensureCheckoutDisk } from './checkout-disk.ts';
import { ensureEmulator } from './emulator.ts';
import { bootGuest, type Guest } from './guest.ts';
import { ensureGuestImage } from './guest-image.ts';
import { runHost } from './host-run.ts';
import { type LabHost, labHosts } from './hosts.ts';
import { readSection, replaceSection } from './marked-section.ts';
import { ensureReleaseDisk } from './release.ts';
import { toCounts, toHostTable, toMarkdown } from './result-table.ts';
import type { HostVersions, RowResult } from './row-result.ts';
import { type LabRow, labRows } from './rows.ts';

const root = resolve(import.meta.dirname, '../../../..');
const hostsPage = join(root, 'docs/hosts.md');
const shortHost = 'debian13';

const options = parseLabArguments(process.argv.slice(2), {
  hosts: labHosts.map(({ name }) => name),
  rows: labRows.map(({ name }) => name),
});
if (process.getuid?.() !== 0) throw new Error('the lab makes file systems of packages and needs root');
const cacheDir = options.cache ?? join(root, '.skerry/hosts');
mkdirSync(cacheDir, { recursive: true });
// Guests and half-built images are removed on the way out.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

const { skip, keep, patience } = options;
const rows = chooseRows(options);
const emulator = await ensureEmulator({ cacheDir });
const extraDisks = [await ensureReleaseDisk({ root, cacheDir })];
if (rows.some(({ name }) => name === 'drivers'))
  extraDisks.push(await ensureCheckoutDisk({ root, cacheDir }));
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
// The page that this run writes is not what it tries.
const isChanged = git('status', '--porcelain', '--', 'packages', 'specs') !== '';
const revision = `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' changed' : ''}`;

const all: RowResult[] = [];
for (const host of chooseHosts(options)) {
  try {
    const image = await ensureGuestImage(host, { cacheDir });
    const boot = (): Promise<Guest> => bootGuest({ emulator, image, extraDisks, cacheDir, patience });

    const { results, guest } = await runHost({
      ...{ host, rows, skip, keep, patience, boot },
      onResult: (soFar, versions) => {
        if (options.write) write(options.short ? 'short' : host.name, soFar, versions);
      },
    });
    all.push(...results);
    if (keep) await talk(guest);
    await guest[Symbol.asyncDispose]();
  } catch (error) {
    console.error(error);
    all.push({ host: host.name, row: 'boot', outcome: 'failed', durationMs: 0, note: 'no guest' });
  }
}
console.log(`\n${toHostTable(all)}\n\n${toCounts(all)}`);
process.exit(all.some(({ outcome }) => outcome === 'failed') ? 1 : 0);

function chooseHosts({ only, short }: LabArguments): readonly LabHost[] {
  if (only.length === 0 && short) return labHosts.filter(({ name }) => name === shortHost);
  return only.length === 0 ? labHosts : labHosts.filter(({ name }) => only.includes(name));
}

function chooseRows({ rows: named, short }: LabArguments): readonly LabRow[] {
  if (short) return labRows.filter((row) => row.short);
  return labRows.filter(({ name, onRequest }) => (named.length === 0 ? !onRequest : named.includes(name)));
}

function write(name: string, results: readonly RowResult[], versions: HostVersions): void {
  const page = readFileSync(hostsPage, 'utf8');
  const content = toMarkdown({
    ...{ results, versions, revision },
    before: readSection(page, name),
    shows: new Map(labRows.map((row) => [row.name, row.shows])),
    date: new Date().toISOString().slice(0, 10),
  });
  writeFileSync(hostsPage, replaceSection(page, { name, content }));
}

/** Runs each line of standard input as root in the guest until that ends. */
async function talk(guest: Guest): Promise<void> {
  console.log(
    `the guest runs on (QEMU is process ${guest.pid}): each line is a command of its root, Ctrl-D ends it`,
  );
  for await (const line of createInterface({ input: process.stdin, prompt: '# ' })) {
    const { status, output } = await guest.login('root', ['sh', '-c', line], { timeoutMs: 3_600_000 });
    console.log(`${output}[${status}]`);
  }
}
