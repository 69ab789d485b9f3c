import type { paths } from '@skerry/platform-client';
import type { Features } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Handlers, RouteKey } from '../http/routes.ts';
import type { ControlPlane } from '../sandboxes/control-plane.ts';
import type { Store } from '../store/store.ts';
import type { ReplyContext } from './sandbox-replies.ts';

/** `/health` asks for no key and is answered beside the handlers. */
export type PlatformPaths = Omit<paths, '/health'>;

/** One handler for each operation of the platform API. */
export type PlatformHandlers = Handlers<PlatformPaths>;
export type PlatformRoute = RouteKey<PlatformPaths>;

/** What handlers may use. A new service of the control plane is at their hand without being named here. */
export interface HandlerContext extends ReplyContext, ControlPlane {
  store: Store;
  /** What the runtime of this server can do. */
  features: Features;
  clock: Clock;
  maxRunMs: number;
  /** Whether a create of the older form that does not say `secure` makes a secured sandbox. */
  secureByDefault: boolean;
  /** How many may run at the same time. */
  maxSandboxes: number;
}
