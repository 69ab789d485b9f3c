import type { Instance } from '@skerry/runtime';
import type { Expiry } from '../expiry.ts';
import type { Log } from '../log.ts';
import type { SandboxRow } from '../store/rows.ts';
import { toRouteKeys } from '../tokens.ts';
import type { Observation } from './observation.ts';
import type { Live } from './running-handles.ts';
import type { Terminator } from './terminator.ts';

/**
 * Makes a running instance reachable, announces its end, observes it, and closes its row when the run ends by itself.
 */
export type Adopt = (row: SandboxRow, instance: Instance) => void;

export interface AdoptOptions {
  live: Live;
  expiry: Pick<Expiry, 'schedule'>;
  terminator: Pick<Terminator, 'begin' | 'finish'>;
  observation: Pick<Observation, 'begin'>;
  log: Log;
  secret: string;
}

export const createAdopt =
  ({ live, expiry, terminator, observation, log, secret }: AdoptOptions): Adopt =>
  (row, instance) => {
    const onExit = (): void => {
      const when = { from: ['running'], runId: instance.runId } as const;
      terminator
        .begin(row.id, 'exited', when)
        .then((ended) => ended && terminator.finish(ended))
        .catch((error) =>
          log.error('the end of a sandbox could not be recorded', { sandboxId: row.id, error }),
        );
    };
    live.add(instance, toRouteKeys(secret, row, instance.runId), onExit, row.node);
    expiry.schedule(row.id, row.endAt);
    observation.begin(row, instance);
  };
