import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { CopyStore } from './copies.ts';
import type { ConnectNode } from './member.ts';
import type { Membership } from './membership/membership.ts';
import type { Replica } from './other-nodes.ts';

/** What the fleet of a server needs. */
export interface FleetOptions {
  membership: Membership;
  connect: ConnectNode;
  store: Store;
  clock: Clock;
  log: Log;
  /** How long a node may not answer before what runs on it is lost. */
  deadMs: number;
  /** Where there is a blob store. */
  blobs?: CopyStore | undefined;
  /** Set when several servers share the database; `store` is fenced by its owner then. Without it all nodes are of this server. */
  replica?: Replica | undefined;
}
