import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { CopyStore } from './copies.ts';
import type { ConnectNode, MemberHooks } from './member.ts';
import type { Membership } from './membership/membership.ts';
import type { Replica } from './other-nodes.ts';

/** What the nodes of a server need. */
export interface NodesOptions {
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

/** What this server does when it becomes, and is no longer, the owner of a node. */
export interface NodesHooks extends MemberHooks {
  /** Whether nothing that this server began on the node is under way. */
  isIdle(node: string): Promise<boolean>;
  /** Forgets the sandboxes on a node without ending them. */
  leave(node: string): void;
  /** Called every few seconds. */
  check(): Promise<void>;
  /** Called when a node is cordoned or takes sandboxes again. */
  onCordon(): void;
}
