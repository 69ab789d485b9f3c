import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '@skerry/sdk';

const WARNING_MS = 60_000;
const EXTENSION_MS = 5 * 60_000;
/** Another program may move the end meanwhile. */
const LOOK_EVERY_MS = 10_000;

/**
 * Watches the end of a sandbox's life until it is disposed of: with `keepsAlive` the life is extended a minute before, otherwise
 * with `warns` a line on stderr says that it will end, and how to extend it. A life that the service extends no further ends.
 */
export function watchEnd(
  sandbox: Sandbox,
  { warns, keepsAlive }: { warns: boolean; keepsAlive: boolean },
): AsyncDisposable {
  const stopping = new AbortController();
  const watching = warns || keepsAlive ? watch(sandbox, keepsAlive, stopping.signal) : Promise.resolve();
  const watched = watching.catch(() => {
    // Disposed of, or the sandbox is gone, which the command inside reports.
  });
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await watched;
    },
  };
}

async function watch(sandbox: Sandbox, keepsAlive: boolean, signal: AbortSignal): Promise<void> {
  for (;;) {
    const endAt = +(await sandbox.getInfo({ signal })).endAt;
    const untilWarning = endAt - Date.now() - WARNING_MS;
    if (untilWarning > 0) {
      await delay(Math.min(untilWarning, LOOK_EVERY_MS), undefined, { signal, ref: false });
      continue;
    }
    if (keepsAlive) {
      await sandbox.setTimeout(EXTENSION_MS, { signal });
      continue;
    }
    const seconds = Math.max(0, Math.round((endAt - Date.now()) / 1000));
    process.stderr.write(
      `\r\nskerry: the sandbox ends in ${seconds} s; --keep-alive extends its life while a terminal is open\r\n`,
    );
    await delay(WARNING_MS + seconds * 1000, undefined, { signal, ref: false });
  }
}
