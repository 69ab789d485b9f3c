import { expect, it } from 'vitest';
import { useFleet } from '../../hosts/testing/fleet-fixture.ts';
import { documentPaths } from '../../http/document.ts';
import { toSnapshotId } from '../snapshots.ts';
import { createLocateCall } from './locate-call.ts';

const fleet = useFleet();
const methods = ['get', 'put', 'post', 'patch', 'delete'] as const;
/** What the agent serves. */
const agentPaths = ['/files', '/files/compose', '/metrics', '/envs'];

it('knows of each operation which server makes it', async () => {
  await fleet.start(['a', 'b']);
  await fleet.create();
  const sandboxID = await fleet.create();
  const request = { kind: 'filesystem', name: null, tag: 'default' } as const;
  const snapshotID = toSnapshotId(await fleet.plane.snapshotter.create(sandboxID, request));
  const params = { sandboxID, snapshotID, nodeName: 'b' };
  const servers = {
    serverOf: async (node: string | null) => `owner of ${node}`,
    builder: async () => 'builder',
  };
  const locate = createLocateCall({ store: fleet.store, servers });
  const calls: { server: string; call: string }[] = [];
  for (const [path, item] of Object.entries(documentPaths)) {
    if (agentPaths.includes(path)) continue;
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    const named = Object.entries(params).filter(([name]) => pattern.includes(`:${name}`));
    for (const method of methods) {
      if (item[method] === undefined) continue;
      const server = await locate({
        ...{ method: method.toUpperCase(), pattern, params: Object.fromEntries(named) },
        query: { to: snapshotID, from: snapshotID },
      });
      calls.push({ server: server ?? 'any', call: `${method.toUpperCase()} ${path}` });
    }
  }
  const found = Object.groupBy(calls, ({ server }) => server);
  const callsOf = (server: string) => found[server]?.map(({ call }) => call);
  expect(
    Object.fromEntries(Object.keys(found).map((server) => [server, callsOf(server)])),
  ).toMatchInlineSnapshot(`
    {
      "any": [
        "GET /sandboxes",
        "POST /sandboxes",
        "GET /v2/sandboxes",
        "POST /v2/sandboxes",
        "GET /sandboxes/{sandboxID}",
        "GET /sandboxes/metrics",
        "GET /teams",
        "GET /teams/{teamID}/metrics",
        "GET /teams/{teamID}/metrics/max",
        "GET /api-keys",
        "POST /api-keys",
        "PATCH /api-keys/{apiKeyID}",
        "DELETE /api-keys/{apiKeyID}",
        "GET /snapshots",
        "GET /skerry/v1/system/usage",
        "POST /skerry/v1/system/prune",
        "GET /skerry/v1/nodes",
        "POST /skerry/v1/nodes/{nodeName}/cordon",
        "POST /skerry/v1/nodes/{nodeName}/uncordon",
        "GET /v2/templates",
        "GET /templates",
        "GET /templates/{templateID}",
        "GET /templates/{templateID}/builds/{buildID}/status",
        "GET /templates/{templateID}/builds/{buildID}/logs",
        "GET /templates/aliases/{alias}",
        "GET /templates/{templateID}/tags",
        "GET /skerry/v1/build-cache",
        "GET /health",
      ],
      "builder": [
        "POST /skerry/v1/images",
        "GET /skerry/v1/images/{templateID}",
        "POST /v3/templates",
        "POST /v2/templates",
        "PATCH /v2/templates/{templateID}",
        "PATCH /templates/{templateID}",
        "DELETE /templates/{templateID}",
        "GET /templates/{templateID}/files/{hash}",
        "PUT /skerry/v1/templates/{templateID}/files/{hash}",
        "POST /v2/templates/{templateID}/builds/{buildID}",
        "DELETE /skerry/v1/templates/{templateID}/builds/{buildID}",
        "POST /templates/tags",
        "DELETE /templates/tags",
        "DELETE /skerry/v1/build-cache",
        "DELETE /skerry/v1/build-cache/{key}",
      ],
      "owner of b": [
        "DELETE /sandboxes/{sandboxID}",
        "POST /sandboxes/{sandboxID}/connect",
        "POST /v2/sandboxes/{sandboxID}/connect",
        "POST /sandboxes/{sandboxID}/timeout",
        "POST /sandboxes/{sandboxID}/refreshes",
        "POST /sandboxes/{sandboxID}/resume",
        "POST /sandboxes/{sandboxID}/pause",
        "PUT /sandboxes/{sandboxID}/network",
        "POST /sandboxes/{sandboxID}/fork",
        "POST /v2/sandboxes/{sandboxID}/fork",
        "POST /sandboxes/{sandboxID}/snapshots",
        "GET /sandboxes/{sandboxID}/metrics",
        "GET /sandboxes/{sandboxID}/logs",
        "GET /v2/sandboxes/{sandboxID}/logs",
        "GET /skerry/v1/snapshots/diff",
        "POST /skerry/v1/snapshots/{snapshotID}/verify",
        "GET /skerry/v1/snapshots/{snapshotID}/log",
        "GET /skerry/v1/sandboxes/{sandboxID}/explanation",
        "DELETE /skerry/v1/nodes/{nodeName}",
        "POST /skerry/v1/nodes/{nodeName}/drain",
      ],
    }
  `);
});
