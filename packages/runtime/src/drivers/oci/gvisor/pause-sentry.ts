import type { Sentry } from '../container/oci-runtime.ts';
import { flushDisk } from '../disk/close-disk.ts';
import { toSandboxFolder } from '../folder.ts';
import type { OciHost } from '../host.ts';
import { type SandboxRecord, writeRecord } from '../record.ts';
import { holdSentry } from './hold-sentry.ts';

/**
 * Does the first half of a pause, as `beginPause` does, for a sandbox whose sentry writes the checkpoint.
 * Rejects as `holdSentry` does: everything continues then.
 */
export const beginSentryPause = async (
  host: OciHost,
  record: SandboxRecord,
  { sentry }: { sentry: Sentry },
): Promise<SandboxRecord> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  // Most of it is written while they still run: little remains when they are stopped.
  await flushDisk(folder.disk);
  return holdSentry(host, record, {
    sentry,
    imagesDir: folder.memory,
    whileHeld: async (memory) => {
      await flushDisk(folder.disk);
      const pausing: SandboxRecord = { ...record, phase: 'pausing', memory };
      await writeRecord(folder.record, pausing);
      return pausing;
    },
  });
};
