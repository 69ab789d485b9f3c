import { execFile } from 'node:child_process';
import { AcmeError } from './acme-error.ts';
import type { DnsRecords } from './dns-records.ts';

/** Providers of DNS take up to minutes until their servers know a record. */
const HOOK_MS = 10 * 60_000;
const OUTPUT_BYTES = 64 * 1024;

/** Records that a program sets: `PROGRAM add NAME VALUE` and `PROGRAM remove NAME VALUE`, called without a shell. It ends with 0 when that is done. */
export function createDnsHook(program: string): DnsRecords {
  const run = (action: 'add' | 'remove', name: string, value: string, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const limits = { timeout: HOOK_MS, maxBuffer: OUTPUT_BYTES, signal };
      execFile(program, [action, name, value], limits, (cause, stdout, stderr) => {
        if (cause === null) return resolve();
        const last = (stderr || stdout).trim().split('\n').slice(-5).join(' / ');
        const how = typeof cause.code === 'number' ? `ended with ${cause.code}` : cause.message;
        reject(
          new AcmeError(`--acme-hook: ${program} ${action} ${name} ${how}${last && `: ${last}`}`, { cause }),
        );
      });
    });
  return {
    add: (name, value, signal) => run('add', name, value, signal),
    remove: (name, value, signal) => run('remove', name, value, signal),
  };
}
