import type { Guest } from './guest.ts';
import type { LabHost } from './hosts.ts';
import type { HostVersions, RowResult } from './row-result.ts';
import { type LabRow, prepareGuest, resetGuest } from './rows.ts';

export interface HostRunOptions {
  host: LabHost;
  rows: readonly LabRow[];
  skip: readonly string[];
  /** Boots a guest of this host on fresh disks. */
  boot: () => Promise<Guest>;
  /** Stop after a row that failed, with the guest as it left it. */
  keep: boolean;
  /** Multiplies every limit of time. */
  patience: number;
  /** Told after each row. */
  onResult: (results: readonly RowResult[], versions: HostVersions) => void;
}

/**
 * Runs rows on one host, in a guest that is replaced when a row that failed leaves something, so that no row fails for another. Prints what
 * becomes of each. Resolves with the results and the last guest; rejects, with no guest left, when one does not boot.
 */
export async function runHost(options: HostRunOptions): Promise<{ results: RowResult[]; guest: Guest }> {
  const { host, rows, skip, boot, keep, patience, onResult } = options;
  const results: RowResult[] = [];
  let guest = await boot();
  try {
    await prepareGuest(guest);
    const versions = await readVersions(guest);
    const { kernel, systemd, crun, runc } = versions;
    console.log(`${host.title}: Linux ${kernel}, systemd ${systemd}, crun ${crun}, runc ${runc}`);
    for (const [index, row] of rows.entries()) {
      const result = skip.includes(row.name)
        ? toSkipped(host, row)
        : await runRow({ host, row, guest, patience });
      results.push(result);
      onResult(results, versions);
      if (result.outcome !== 'failed' || index === rows.length - 1) continue;
      if (keep) break;
      if (await resetGuest(guest)) continue;
      await guest[Symbol.asyncDispose]();
      guest = await boot();
      await prepareGuest(guest);
    }
    return { results, guest };
  } catch (error) {
    await guest[Symbol.asyncDispose]();
    throw error;
  }
}

const toSkipped = (host: LabHost, row: LabRow): RowResult => ({
  host: host.name,
  row: row.name,
  outcome: 'skipped',
  durationMs: 0,
  note: 'left out by --skip',
});

/** What a row may take beside its own time, such as to give up. */
const GRACE_MS = 60_000;

async function runRow(options: {
  host: LabHost;
  row: LabRow;
  guest: Guest;
  patience: number;
}): Promise<RowResult> {
  const { host, row, guest, patience } = options;
  const startMs = performance.now();
  const timeoutMs = row.minutes * patience * 60_000;
  const about = { host: host.name, row: row.name };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${row.name} did not end within ${row.minutes * patience} minutes`)),
    timeoutMs + GRACE_MS,
  );
  try {
    const note = await Promise.race([row.run(guest, { timeoutMs }), late.promise]);
    const durationMs = performance.now() - startMs;
    console.log(`ok      ${row.name}  ${Math.round(durationMs / 1000)} s  ${note}`);
    return { ...about, outcome: 'passed', durationMs, note };
  } catch (error) {
    const durationMs = performance.now() - startMs;
    const { message } = error as Error;
    console.log(
      `FAILED  ${row.name}  ${Math.round(durationMs / 1000)} s\n${message}\n${await readLogs(guest)}`,
    );
    return { ...about, outcome: 'failed', durationMs, note: toReason(message) };
  } finally {
    clearTimeout(timer);
  }
}

/** The line that names the error, where there is one. */
function toReason(message: string): string {
  const lines = message.split('\n').slice(1);
  return lines.find((line) => /error/i.test(line)) ?? lines[0] ?? message;
}

const logs = `for log in /var/log/skerry-*.log /home/lab/skerry-*.log; do [ -e $log ] && echo "== $log" && tail -n 25 $log; done
echo "== journal"; journalctl --no-pager --lines 40 --output short-monotonic`;

/** What the guest has to say, if it still does. */
async function readLogs(guest: Guest): Promise<string> {
  try {
    return (await guest.run(['sh', '-c', logs])).output;
  } catch (error) {
    return `the guest does not answer (${(error as Error).message}); its console:\n${guest.readConsole()}`;
  }
}

async function readVersions(guest: Guest): Promise<HostVersions> {
  const script = 'uname -r; systemctl --version; crun --version; runc --version';
  const { output } = await guest.run(['sh', '-c', script]);
  const find = (pattern: RegExp): string => pattern.exec(output)?.[1] ?? 'unknown';
  return {
    kernel: find(/^(\S+)/),
    systemd: find(/^systemd (\d+)/m),
    crun: find(/^crun version (\S+)/m),
    runc: find(/^runc version (\S+)/m),
  };
}
