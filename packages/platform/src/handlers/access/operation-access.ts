import { ApiError } from '@skerry/contract/error';
import type { paths } from '@skerry/platform-client';
import type { RouteKey } from '../../http/routes.ts';
import type { Scope } from '../../store/scope.ts';

/**
 * What a key must allow: `read` and `write` concern the project of the caller; `installation` and `installation-write` all projects, so
 * they need a key of none.
 */
type Access = 'read' | 'write' | 'installation' | 'installation-write';

/** The operations that need a key. An upload needs a link instead, which a call with a key has returned. */
type KeyedRoute = Exclude<
  RouteKey<Omit<paths, '/health' | '/files' | '/files/compose' | '/metrics' | '/envs'>>,
  'PUT /skerry/v1/templates/{templateID}/files/{hash}'
>;

const accessOf: Record<KeyedRoute, Access> = {
  'GET /sandboxes': 'read',
  'POST /sandboxes': 'write',
  'GET /v2/sandboxes': 'read',
  'POST /v2/sandboxes': 'write',
  'GET /sandboxes/{sandboxID}': 'read',
  'DELETE /sandboxes/{sandboxID}': 'write',
  'POST /sandboxes/{sandboxID}/connect': 'write',
  'POST /v2/sandboxes/{sandboxID}/connect': 'write',
  'POST /sandboxes/{sandboxID}/timeout': 'write',
  'POST /sandboxes/{sandboxID}/refreshes': 'write',
  'POST /sandboxes/{sandboxID}/resume': 'write',
  'POST /sandboxes/{sandboxID}/pause': 'write',
  'PUT /sandboxes/{sandboxID}/network': 'write',
  'POST /sandboxes/{sandboxID}/fork': 'write',
  'POST /v2/sandboxes/{sandboxID}/fork': 'write',
  'POST /sandboxes/{sandboxID}/snapshots': 'write',
  'GET /sandboxes/metrics': 'read',
  'GET /sandboxes/{sandboxID}/metrics': 'read',
  'GET /sandboxes/{sandboxID}/logs': 'read',
  'GET /v2/sandboxes/{sandboxID}/logs': 'read',
  'GET /skerry/v1/sandboxes/{sandboxID}/explanation': 'read',
  'GET /snapshots': 'read',
  'GET /skerry/v1/snapshots/diff': 'read',
  'POST /skerry/v1/snapshots/{snapshotID}/verify': 'read',
  'GET /skerry/v1/snapshots/{snapshotID}/log': 'read',
  'POST /v3/templates': 'write',
  'POST /v2/templates': 'write',
  'GET /templates': 'read',
  'GET /v2/templates': 'read',
  'PATCH /v2/templates/{templateID}': 'write',
  'PATCH /templates/{templateID}': 'write',
  'GET /templates/{templateID}': 'read',
  'DELETE /templates/{templateID}': 'write',
  // The reply of this operation has a link to which files are written.
  'GET /templates/{templateID}/files/{hash}': 'write',
  'POST /v2/templates/{templateID}/builds/{buildID}': 'write',
  'DELETE /skerry/v1/templates/{templateID}/builds/{buildID}': 'write',
  'GET /templates/{templateID}/builds/{buildID}/status': 'read',
  'GET /templates/{templateID}/builds/{buildID}/logs': 'read',
  'GET /templates/aliases/{alias}': 'read',
  'POST /templates/tags': 'write',
  'DELETE /templates/tags': 'write',
  'GET /templates/{templateID}/tags': 'read',
  'POST /skerry/v1/images': 'write',
  'GET /skerry/v1/images/{templateID}': 'read',
  'GET /teams': 'read',
  'GET /teams/{teamID}/metrics': 'read',
  'GET /teams/{teamID}/metrics/max': 'read',
  'GET /api-keys': 'installation',
  'POST /api-keys': 'installation-write',
  'PATCH /api-keys/{apiKeyID}': 'installation-write',
  'DELETE /api-keys/{apiKeyID}': 'installation-write',
  'GET /skerry/v1/system/usage': 'installation',
  'POST /skerry/v1/system/prune': 'installation-write',
  'GET /skerry/v1/nodes': 'installation',
  'DELETE /skerry/v1/nodes/{nodeName}': 'installation-write',
  'POST /skerry/v1/nodes/{nodeName}/cordon': 'installation-write',
  'POST /skerry/v1/nodes/{nodeName}/uncordon': 'installation-write',
  'POST /skerry/v1/nodes/{nodeName}/drain': 'installation-write',
  'GET /skerry/v1/build-cache': 'installation',
  'DELETE /skerry/v1/build-cache': 'installation-write',
  'DELETE /skerry/v1/build-cache/{key}': 'installation-write',
};

/** Throws `permission_denied` when the limits of a key exclude an operation. */
export const requireAccess = (operation: string, { project, isReadOnly }: Scope): void => {
  const access = accessOf[operation as KeyedRoute];
  if (project !== null && access !== 'read' && access !== 'write')
    throw new ApiError(
      'permission_denied',
      `the key is limited to the project "${project}", and ${operation} concerns all projects: use a key without a project`,
    );
  if (isReadOnly && access !== 'read' && access !== 'installation')
    throw new ApiError(
      'permission_denied',
      `the key may only read, and ${operation} does more: use a key that is not read-only`,
    );
};
