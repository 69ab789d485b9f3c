import type { Handlers, RouteKey } from '@skerry/contract/routes';
import type { paths } from '@skerry/platform-client';
import type { Features } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Shipping } from '../logs/shipping.ts';
import type { Sampling } from '../metrics/sampling.ts';
import type { Forking } from '../sandboxes/forking.ts';
import type { Inspecting } from '../sandboxes/inspecting.ts';
import type { Lifecycle } from '../sandboxes/lifecycle.ts';
import type { Pausing } from '../sandboxes/pausing.ts';
import type { Resuming } from '../sandboxes/resuming.ts';
import type { Snapshotting } from '../sandboxes/snapshotting.ts';
import type { TimeToLive } from '../sandboxes/time-to-live.ts';
import type { Store } from '../store/store.ts';
import type { ReplyContext } from './sandbox-replies.ts';

/** `/health` asks for no key and is answered beside the handlers. */
export type PlatformPaths = Omit<paths, '/health'>;

/** One handler for each operation of the platform API. */
export type PlatformHandlers = Handlers<PlatformPaths>;
export type PlatformRoute = RouteKey<PlatformPaths>;

export interface HandlerContext extends ReplyContext {
  store: Store;
  lifecycle: Lifecycle;
  pausing: Pausing;
  resuming: Resuming;
  snapshotting: Snapshotting;
  inspecting: Inspecting;
  /** What the runtime of this server can do. */
  features: Features;
  timeToLive: TimeToLive;
  sampling: Sampling;
  shipping: Shipping;
  clock: Clock;
  forking: Forking;
  maxRunMs: number;
  /** Whether a create of the older form that does not say `secure` makes a secured sandbox. */
  secureByDefault: boolean;
  /** How many may run at the same time. */
  maxSandboxes: number;
}
