import type { paths } from '@skerry/platform-client';
import type { Features } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Handlers, RouteKey } from '../http/routes.ts';
import type { NewWork } from '../new-work.ts';
import type { Scope } from '../store/scope.ts';
import type { Store } from '../store/store.ts';
import type { ArchiveStore } from '../templates/uploads/archive-store.ts';
import type { UploadLinks } from '../templates/uploads/upload-links.ts';
import type { ReplyContext } from './sandbox-replies.ts';

/**
 * The paths that have handlers. Those that require no key, and those with other bodies than JSON, are served
 * beside the handlers.
 */
export type PlatformPaths = Omit<
  paths,
  | '/health'
  | '/skerry/v1/templates/{templateID}/files/{hash}'
  | '/skerry/v1/images'
  | '/skerry/v1/images/{templateID}'
>;

/** What is known of a caller with a key. */
export interface Caller {
  /** The origin under which it has reached this server. */
  origin: string;
  /** Empty for a server that calls for itself. */
  apiKey: string;
  /** What it may see and change. */
  scope: Scope;
  /** The id of that key; null for a server that calls for itself. */
  keyId: string | null;
  /** Whether another server has sent the call here. */
  isForwarded: boolean;
  /** Whether that server calls for itself, such as to move a sandbox, and for no caller with a key. */
  isServer: boolean;
}

/** One handler for each operation of the platform API. */
export type PlatformHandlers = Handlers<PlatformPaths, Caller>;
export type PlatformRoute = RouteKey<PlatformPaths>;

/** The dependencies of handlers: the whole control plane and a few settings. */
export interface HandlerContext extends ReplyContext, ControlPlane {
  store: Store;
  newWork: Pick<NewWork, 'require'>;
  /** The files that builds copy; undefined where templates cannot be built. */
  buildFiles: ArchiveStore | undefined;
  uploadLinks: UploadLinks;
  /** The features of this server's runtime. */
  features: Features;
  clock: Clock;
  maxRunMs: number;
  /** Whether a create of the older form without `secure` makes a secured sandbox. */
  secureByDefault: boolean;
  /** Disk of a sandbox, in MiB. */
  diskMb: number;
  /** The concurrency limit. */
  maxSandboxes: number;
}
