import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { freeSlots } from '../../network/free-slots.ts';
import { listSlots } from '../../network/slots.ts';
import { adoptLivenessPipe } from './container/liveness-pipe.ts';
import { renameSockets } from './criu/dump.ts';
import { endDump } from './criu/end-dump.ts';
import { letRunOn } from './criu/let-run-on.ts';
import { toMemoryDeadlineMs } from './criu/memory-deadline.ts';
import { toSandboxFolder } from './folder.ts';
import { runOn } from './gvisor/hold-sentry.ts';
import type { OciHost } from './host.ts';
import type { Run } from './instance.ts';
import { settlePause } from './pause.ts';
import type { SandboxRecord } from './record.ts';

/**
 * Takes over sandboxes that an earlier process made, from whatever it was doing when it ended: what it began to pause is
 * paused, what it began to resume is paused again, what it had frozen runs on.
 */
export const createAdopter = (host: OciHost): ((record: SandboxRecord | undefined) => Promise<Run>) => {
  const { dataDir, stateDir } = host;
  let slotsAtFirst: ReturnType<typeof listSlots> | undefined;

  /** A resume reserves its slot a moment before the record says so. */
  const freeLeftoverSlots = async (id: string): Promise<void> => {
    slotsAtFirst ??= listSlots({ dataDir, stateDir });
    const own = (await slotsAtFirst).filter((slot) => slot.id === id);
    await freeSlots(
      host,
      id,
      own.map(({ slot }) => slot),
    );
  };

  return async (record) => {
    if (record === undefined || record.phase === 'starting') return { record, line: undefined };
    const { id } = record.spec;
    if (record.phase === 'ready') {
      const folder = toSandboxFolder(dataDir, id);
      const line = adoptLivenessPipe(folder.livenessPipe);
      if (line !== undefined) {
        const cgroup = host.cgroup(id);
        // The images are there for a moment longer than the line, until the record says what was kept.
        if (existsSync(folder.dumpPipe) || existsSync(folder.memory)) {
          // Whoever writes its memory at this moment leaves it frozen when done, and stopped besides, with connections that fail.
          const isSentry = record.level === 'gvisor';
          // A kernel of its own does by itself what it was told to; who told it may stop something yet.
          const deadlineMs = isSentry ? 0 : toMemoryDeadlineMs(record.spec.limits.memoryBytes);
          await endDump(folder.dumpPipe, { deadlineMs });
          await renameSockets(folder, { from: '.new', to: '' });
          if (isSentry) {
            await cgroup.signal('SIGCONT');
            await runOn(host, record).catch(() => {
              // An agent that takes no part cannot be reached; that is no reason not to take over the others. Where something may
              // stand still it is tried again when the next takes it over.
            });
          } else {
            await letRunOn(cgroup, folder).catch(() => {
              // It runs on all the same, and whoever waits for this waits for every other sandbox, too.
            });
          }
          await rm(folder.dumpPipe, { force: true });
          if (!isSentry) await rm(folder.memory, { recursive: true, force: true });
        }
        await cgroup.thaw();
      }
      return { record, line };
    }
    try {
      await freeLeftoverSlots(id);
      if (record.phase === 'paused') return { record, line: undefined };
      return { record: await settlePause(host, record), line: undefined };
    } catch {
      // It stays as it is, which is paused to everybody; pause, resume and stop try again and say what is wrong.
      return { record, line: undefined };
    }
  };
};
