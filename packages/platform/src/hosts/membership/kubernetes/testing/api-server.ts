import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

const kinds = ['pods', 'nodes', 'secrets', 'certificatesigningrequests'] as const;
type Kind = (typeof kinds)[number];
export interface StoredObject {
  metadata: { name: string; annotations?: Record<string, string | null>; [field: string]: unknown };
  [field: string]: unknown;
}

/** Objects of a few kinds over HTTP, with lists and watches, as an API server of Kubernetes answers them. */
export interface TestApiServer {
  /** Writes a kubeconfig for it. */
  writeKubeconfig(path: string): Promise<void>;
  put(kind: Kind, object: StoredObject): void;
  remove(kind: Kind, name: string): void;
  get(kind: Kind, name: string): StoredObject | undefined;
  /** Breaks the connections of all watches. */
  breakWatches(): void;
  /** Ends all watches as at the end of their time. */
  endWatches(): void;
  /** Forgets all changes so far: a watch from before is answered with 410. `how`: as the status, or as an event. */
  compact(how: 'status' | 'event'): void;
  /** Stops answering, and begins again at the same address. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Answers all requests with that status; undefined: as usual. */
  refuse(status: number | undefined): void;
  /** The lists and watches so far, as method, path and query. */
  readonly requests: readonly string[];
  /** Watches that are open. */
  watchCount(): number;
}

interface Event {
  version: number;
  kind: Kind;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: StoredObject;
}

const pathForm =
  /^\/api(?:s\/certificates\.k8s\.io)?\/v1(?:\/namespaces\/skerry)?\/([a-z]+)(?:\/([^/]*))?(?:\/(?:status|approval))?$/;

export const startTestApiServer = async (
  options: {
    /** What the API server would find out about the sender of a CertificateSigningRequest. */
    sender?: object;
  } = {},
): Promise<TestApiServer> => {
  const objects: Record<Kind, Map<string, StoredObject>> = {
    ...{ pods: new Map(), nodes: new Map(), secrets: new Map(), certificatesigningrequests: new Map() },
  };
  let events: Event[] = [];
  let version = 100;
  let compactedAt = 0;
  let expiry: 'status' | 'event' = 'status';
  let refusal: number | undefined;
  const requests: string[] = [];
  const watches = new Map<ServerResponse, Kind>();

  const send = (response: ServerResponse, { type, object }: Pick<Event, 'type' | 'object'>): void =>
    void response.write(`${JSON.stringify({ type, object })}\n`);
  const happen = (kind: Kind, type: Event['type'], object: StoredObject): void => {
    version += 1;
    const stamped = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    if (type === 'DELETED') objects[kind].delete(object.metadata.name);
    else objects[kind].set(object.metadata.name, stamped);
    const event = { version, kind, type, object: stamped };
    events.push(event);
    for (const [response, watched] of watches) if (watched === kind) send(response, event);
  };

  const expired = { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 };
  const watch = (kind: Kind, from: number, response: ServerResponse): void => {
    const isExpired = from < compactedAt;
    response.writeHead(isExpired && expiry === 'status' ? 410 : 200, { 'content-type': 'application/json' });
    if (isExpired) {
      response.end(`${JSON.stringify(expiry === 'status' ? expired : { type: 'ERROR', object: expired })}\n`);
      return;
    }
    response.flushHeaders();
    for (const event of events) if (event.version > from && event.kind === kind) send(response, event);
    watches.set(response, kind);
    response.once('close', () => watches.delete(response));
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://api');
    requests.push(`${request.method} ${url.pathname}${url.search}`);
    const [, word, name] = url.pathname.match(pathForm) ?? [];
    const kind = kinds.find((one) => one === word);
    const reply = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const fail = (code: number): void => reply(code, { kind: 'Status', code });
    const body = request.method === 'GET' ? undefined : ((await json(request)) as StoredObject);
    if (refusal !== undefined) fail(refusal);
    else if (kind === undefined) fail(404);
    else if (body !== undefined) reply(...write(kind, request.method, name, body));
    else if (url.searchParams.get('watch') === 'true')
      watch(kind, Number(url.searchParams.get('resourceVersion')), response);
    else if (name === undefined)
      reply(200, { metadata: { resourceVersion: String(version) }, items: [...objects[kind].values()] });
    else if (objects[kind].has(name)) reply(200, objects[kind].get(name) as object);
    else fail(404);
  };

  /**
   * Handles a create, a replace, a replace of a subresource, or a merge of annotations. Returns the status
   * and body of the response.
   */
  const write = (
    kind: Kind,
    method: string | undefined,
    name: string | undefined,
    body: StoredObject,
  ): [number, object] => {
    if (method === 'POST') {
      const { generateName } = body.metadata;
      const metadata = { ...body.metadata, name: body.metadata.name ?? `${String(generateName)}${version}` };
      const sender = kind === 'certificatesigningrequests' ? options.sender : {};
      const object = { ...body, spec: { ...(body.spec as object), ...sender }, metadata };
      if (objects[kind].has(metadata.name)) return [409, { kind: 'Status', code: 409 }];
      happen(kind, 'ADDED', object);
      return [201, object];
    }
    const found = objects[kind].get(name ?? '');
    if (found === undefined) return [404, { kind: 'Status', code: 404 }];
    if (method === 'PUT') {
      happen(kind, 'MODIFIED', body);
      return [200, body];
    }
    const merged = Object.entries({ ...found.metadata.annotations, ...body.metadata.annotations });
    const annotations = Object.fromEntries(merged.filter(([, value]) => value !== null));
    const object = { ...found, metadata: { ...found.metadata, annotations } };
    happen(kind, 'MODIFIED', object);
    return [200, object];
  };

  let server: Server | undefined;
  const listen = async (port: number): Promise<number> => {
    server = createServer((request, response) => void answer(request, response));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);

  return {
    requests,
    watchCount: () => watches.size,
    writeKubeconfig: (path) =>
      writeFile(
        path,
        JSON.stringify({
          'current-context': 'test',
          contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
          clusters: [
            {
              name: 'test',
              cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true },
            },
          ],
          users: [{ name: 'test', user: {} }],
        }),
      ),
    put: (kind, object) =>
      happen(kind, objects[kind].has(object.metadata.name) ? 'MODIFIED' : 'ADDED', object),
    remove: (kind, name) => {
      const object = objects[kind].get(name);
      if (object !== undefined) happen(kind, 'DELETED', object);
    },
    get: (kind, name) => objects[kind].get(name),
    breakWatches: () => {
      for (const response of watches.keys()) response.destroy();
    },
    endWatches: () => {
      for (const response of watches.keys()) {
        watches.delete(response);
        response.end();
      }
    },
    compact: (how) => {
      expiry = how;
      version += 1;
      compactedAt = version;
      events = [];
    },
    stop: async () => {
      if (!server?.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    restart: async () => void (await listen(port)),
    refuse: (status) => {
      refusal = status;
    },
  };
};

/** A pod of a node, Ready unless the test says otherwise. */
export const toPod = (
  name: string,
  {
    node = name,
    ip = '10.0.0.1',
    isReady = true,
    ports,
  }: {
    node?: string;
    ip?: string;
    isReady?: boolean;
    ports?: { name: string; containerPort: number }[];
  } = {},
): StoredObject => ({
  metadata: { name },
  spec: { nodeName: node, containers: [{ name: 'node', ...(ports && { ports }) }] },
  status: { podIP: ip, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});
