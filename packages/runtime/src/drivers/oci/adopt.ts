import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setNames } from '../../network/attach.ts';
import { freeSlots } from '../../network/free-slots.ts';
import { listSlots } from '../../network/slots.ts';
import { adoptLivenessPipe } from './container/liveness-pipe.ts';
import { continueProcesses } from './criu/continue-processes.ts';
import { renameSockets } from './criu/dump.ts';
import { endDump } from './criu/end-dump.ts';
import { toMemoryDeadlineMs } from './criu/memory-deadline.ts';
import { toSandboxFolder } from './folder.ts';
import { releaseSentry } from './gvisor/hold-sentry.ts';
import type { OciHost } from './host.ts';
import type { Run } from './instance.ts';
import { levelOf } from './levels.ts';
import { settlePause } from './pause.ts';
import type { SandboxRecord } from './record.ts';

/**
 * Adopts sandboxes that an earlier process made, from whatever it was doing when it ended: an unfinished pause is
 * completed, a sandbox whose resume was interrupted is paused again, and a frozen one continues.
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
        // The images exist for a moment longer than the pipe, until the record says what was kept.
        if (existsSync(folder.dumpPipe) || existsSync(folder.memory)) {
          // A process that is still writing the memory leaves the sandbox frozen and stopped when it ends, with
          // connections that fail.
          const isSentry = levelOf(record).checkpointer === 'sentry';
          // A sentry completes its command by itself; the program that sent the command may still stop something.
          const deadlineMs = isSentry ? 0 : toMemoryDeadlineMs(record.spec.limits.memoryBytes);
          await endDump(folder.dumpPipe, { deadlineMs });
          await renameSockets(folder, { from: '.new', to: '' });
          if (isSentry) {
            await cgroup.signal('SIGCONT');
            await releaseSentry(host, record).catch(() => {
              // An agent that does not respond cannot be reached, which must not prevent the other adoptions. Where
              // something is still stopped, the next adoption tries again.
            });
          } else {
            await continueProcesses(cgroup, folder).catch(() => {
              // The processes continue in any case, and a failure here must not hold up every other sandbox.
            });
          }
          await rm(folder.dumpPipe, { force: true });
          if (!isSentry) await rm(folder.memory, { recursive: true, force: true });
        }
        await cgroup.thaw();
        const { slot, spec } = record;
        await setNames({ slot, policy: spec.network, gateway: host.gateway, ...host.surroundings }).catch(
          () => {
            // The gateway is told again until it takes them. Until then the sandbox reaches no name.
          },
        );
      }
      return { record, line };
    }
    try {
      await freeLeftoverSlots(id);
      if (record.phase === 'paused') return { record, line: undefined };
      return { record: await settlePause(host, record), line: undefined };
    } catch {
      // The sandbox stays as it is, which is paused for every caller; pause, resume and stop try again and report what
      // is wrong.
      return { record, line: undefined };
    }
  };
};
