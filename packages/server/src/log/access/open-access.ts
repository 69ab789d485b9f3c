import type { HostRules } from '@skerry/edge';
import type { Log } from '@skerry/platform';
import { type AccessLog, createAccessLog } from './access-log.ts';
import { openAccessSink } from './access-sink.ts';

/**
 * Opens the log of requests, which is written to a file or stdout, to the log of the server at level `debug`, or both. Undefined where
 * neither is wanted. Rejects with `UserError` for a file that cannot be written.
 */
export const openAccess = (
  { accessLog, logsAccess, log }: { accessLog?: string | undefined; logsAccess: boolean; log: Log },
  rules: HostRules,
): { log: AccessLog; close(): Promise<void> } | undefined => {
  if (accessLog === undefined && !logsAccess) return undefined;
  const sink = accessLog === undefined ? undefined : openAccessSink(accessLog, log);
  return {
    log: createAccessLog((entry) => {
      sink?.write(entry);
      if (logsAccess) log.debug('request', { ...entry });
    }, rules),
    close: async () => sink?.close(),
  };
};
