import { readFileSync } from 'node:fs';
import { apiKeys, Sandbox } from '@skerry/sdk';
import { build, Template, templates } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect } from 'vitest';
import { parse } from 'yaml';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { attackFromOutside } from './attack.ts';

interface Operation {
  security?: unknown[];
  parameters?: { name: string; in: string; required?: boolean; example?: unknown }[];
  requestBody?: {
    content: Record<string, { examples?: Record<string, { value: unknown }> } | undefined>;
  };
}
const { paths } = parse(readFileSync(new URL('../../../../specs/openapi.yaml', import.meta.url), 'utf8')) as {
  paths: Record<string, { servers?: unknown } & Record<string, Operation>>;
};
const methods = ['get', 'put', 'post', 'patch', 'delete'];

/** Each operation of the document that needs a key. */
const operations = Object.entries(paths)
  .filter(([, item]) => item.servers === undefined)
  .flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      const needsKey = operation !== undefined && operation.security?.length !== 0;
      return needsKey ? [{ method: method.toUpperCase(), path, operation }] : [];
    }),
  );

const PROJECT = 'victim';
const ATTACKER = 'attacker';
const HASH = 'ab'.repeat(32);

let stack: SharedStack;
let victim: SharedStack['connection'] & { apiKey: string };
let attackerKey: string;
const keyIds: string[] = [];
let sandbox: Sandbox;
/** What the path of an operation names, of the other project. */
let foreign: Record<string, string>;
/** Names of the same form that nothing has. */
const missing: Record<string, string> = {
  sandboxID: 'i00000000000000000000',
  templateID: 'nosuchtemplate',
  alias: 'nosuchtemplate',
  buildID: '00000000-0000-4000-8000-000000000000',
  snapshotID: 'nosuchtemplate:default',
  hash: HASH,
  teamID: 'nosuchteam',
};

const createKey = async (project: string): Promise<string> => {
  const { key, keyId } = await apiKeys.create({ ...stack.connection, name: project, project });
  keyIds.push(keyId);
  return key;
};

beforeAll(async () => {
  stack = await joinStack();
  victim = { ...stack.connection, apiKey: await createKey(PROJECT) };
  attackerKey = await createKey(ATTACKER);
  sandbox = await Sandbox.create({ ...victim, metadata: { of: PROJECT }, timeoutMs: 600_000 });
  const { snapshotId } = await Sandbox.createSnapshot(sandbox.sandboxId, {
    ...victim,
    name: 'victims-snapshot',
    memory: false,
  });
  const template = Template().fromTemplate('base').run(['true']);
  const made = await build(template, 'victims-template', victim).result();
  foreign = {
    sandboxID: sandbox.sandboxId,
    templateID: made.templateId,
    alias: 'victims-template',
    buildID: made.buildId,
    snapshotID: snapshotId,
    hash: HASH,
    teamID: PROJECT,
  };
  const files = await ask('GET', `/templates/${made.templateId}/files/${HASH}`, { key: victim.apiKey });
  expect(files).toMatchObject({ status: 201 });
  const { url } = JSON.parse(files.text) as { url: string };
  expect((await fetchByHost(url, { method: 'PUT', body: 'an archive' })).status).toBe(204);
});
afterAll(async () => {
  await sandbox.kill();
  await templates.delete('victims-template', victim);
  await templates.delete('victims-snapshot', victim);
  for (const keyId of keyIds) await apiKeys.revoke(keyId, stack.connection);
  await stack.leave();
});

const ask = async (
  method: string,
  path: string,
  { key = attackerKey, body }: { key?: string; body?: unknown } = {},
) => {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const { status, text } = await fetchByHost(stack.address.apiUrl + path, {
    method,
    headers: {
      'x-api-key': key,
      ...(sent !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(sent)),
      }),
    },
    ...(sent !== undefined && { body: sent }),
  });
  return { status, text };
};

const fill = (path: string, names: Record<string, string>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? 'none'));
/** The answer without the names that the call itself has. */
const withoutNames = ({ status, text }: { status: number; text: string }, names: Record<string, string>) =>
  // A name may begin with another.
  Object.values(names)
    .toSorted((one, other) => other.length - one.length)
    .reduce((left, name) => left.replaceAll(name, '-'), `${status} ${text}`);
const queryOf = ({ parameters = [] }: Operation): string => {
  const required = parameters.filter(({ in: place, required }) => place === 'query' && required);
  return required.length === 0
    ? ''
    : `?${required.map(({ name, example }) => `${name}=${String(example)}`).join('&')}`;
};
const exampleOf = ({ requestBody }: Operation): unknown =>
  Object.values(requestBody?.content['application/json']?.examples ?? {})[0]?.value;

/** What concerns all projects has parameters of these names, or is in that list. */
const installationNames = ['nodeName', 'apiKeyID', 'key'];
const installation = [
  ...['GET /api-keys', 'POST /api-keys', 'GET /skerry/v1/nodes', 'GET /skerry/v1/build-cache'],
  ...['DELETE /skerry/v1/build-cache', 'GET /skerry/v1/system/usage', 'POST /skerry/v1/system/prune'],
];
/** Operations whose path names nothing, with what they would show or change: first of the other project, then of none. */
type Names = Record<string, string>;
const bodies: Record<string, (names: Names) => { query?: string; body?: unknown }> = {
  'POST /sandboxes': ({ snapshotID }) => ({ body: { templateID: snapshotID } }),
  'POST /v2/sandboxes': ({ templateID }) => ({ body: { templateID } }),
  'POST /templates/tags': ({ templateID }) => ({ body: { target: templateID, tags: ['stolen'] } }),
  'DELETE /templates/tags': ({ templateID }) => ({ body: { name: templateID, tags: ['default'] } }),
  'GET /skerry/v1/snapshots/diff': ({ sandboxID }) => ({ query: `?to=${sandboxID}` }),
};
/** Lists, and filters of them by which another project could be probed. */
const lists: Record<string, (names: Names) => string[]> = {
  'GET /sandboxes': () => ['', '?metadata=of%3Dvictim'],
  'GET /v2/sandboxes': ({ templateID }) => ['', `?template=${templateID}`],
  'GET /sandboxes/metrics': ({ sandboxID }) => [`?sandbox_ids=${sandboxID}`],
  'GET /snapshots': ({ sandboxID, snapshotID = '' }) => [
    ...['', `?sandboxID=${sandboxID}`],
    `?name=${encodeURIComponent(snapshotID)}`,
  ],
  'GET /templates': () => [''],
  'GET /v2/templates': () => [''],
  'GET /teams': () => [''],
};
/** Operations that register a name, which another project may have too. */
const registering = ['POST /v3/templates', 'POST /v2/templates', 'POST /skerry/v1/images'];

attackFromOutside(
  'using a key of one project with each operation of the API on the objects of another project',
  'the scope of the key: they are 404, as what does not exist',
  async () => {
    for (const { method, path, operation } of operations) {
      const route = `${method} ${path}`;
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
      const body = exampleOf(operation);
      if (installation.includes(route) || names.some((name) => installationNames.includes(name))) {
        const { status, text } = await ask(method, fill(path, {}), { body });
        expect([route, status, text]).toEqual([route, 403, expect.stringContaining(ATTACKER)]);
      } else if (names.length > 0) {
        for (const name of names)
          expect([route, Object.keys(missing)]).toContainEqual(expect.arrayContaining([name]));
        const query = queryOf(operation);
        const theirs = await ask(method, fill(path, foreign) + query, { body });
        const none = await ask(method, fill(path, missing) + query, { body });
        expect([route, theirs.status]).toEqual([route, names.includes('teamID') ? 403 : 404]);
        expect([route, withoutNames(theirs, foreign)]).toEqual([route, withoutNames(none, missing)]);
      } else if (bodies[route]) {
        const [theirs, none] = await Promise.all(
          [foreign, missing].map((of) => {
            const { query = '', ...rest } = bodies[route]?.(of) ?? {};
            return ask(method, path + query, rest);
          }),
        );
        expect([route, theirs?.status]).toEqual([route, 404]);
        expect([route, withoutNames(theirs as never, foreign)]).toEqual([
          route,
          withoutNames(none as never, missing),
        ]);
      } else if (lists[route]) {
        for (const query of lists[route](foreign)) {
          const { status, text } = await ask(method, path + query);
          expect([route, query, status]).toEqual([route, query, 200]);
          for (const name of [...Object.values(foreign), PROJECT])
            expect([route, text]).not.toContainEqual(expect.stringContaining(name));
        }
      } else expect(registering, 'an operation that this test does not try').toContain(route);
    }
    expect((await Sandbox.getInfo(sandbox.sandboxId, victim)).state).toBe('running');
    expect((await templates.listTags('victims-template', victim)).map(({ tag }) => tag)).toEqual(['default']);
  },
);

attackFromOutside(
  'learning from the names and hashes of a project what another project has made or uploaded',
  'names and uploads of each project, which are its own',
  async () => {
    const registered = await ask('POST', '/v3/templates', { body: { name: 'victims-template' } });
    expect(registered).toMatchObject({
      status: 202,
      text: expect.stringContaining(`${ATTACKER}/victims-template`),
    });
    const { templateID } = JSON.parse(registered.text) as { templateID: string };
    expect(templateID).not.toBe(foreign.templateID);
    const files = await ask('GET', `/templates/${templateID}/files/${HASH}`);
    expect(files).toMatchObject({ status: 201, text: expect.stringContaining('"present":false') });
    const theirs = await ask('GET', `/templates/${foreign.templateID}/files/${HASH}`, { key: victim.apiKey });
    expect(theirs.text).toContain('"present":true');
    const { buildID } = JSON.parse(registered.text) as { buildID: string };
    const steps = [{ type: 'COPY', args: ['a', 'b'], filesHash: HASH }];
    for (const body of [
      { fromTemplate: 'base', steps },
      { fromTemplate: `${PROJECT}/victims-template` },
      { fromTemplate: foreign.templateID },
      { fromTemplate: foreign.snapshotID },
    ]) {
      const { status } = await ask('POST', `/v2/templates/${templateID}/builds/${buildID}`, { body });
      expect([body, status]).toEqual([body, 'steps' in body ? 400 : 404]);
    }
    expect((await ask('GET', '/templates/aliases/victims-snapshot')).status).toBe(404);
    const setPublic = (isPublic: boolean) =>
      ask('PATCH', `/v2/templates/${foreign.templateID}`, { key: victim.apiKey, body: { public: isPublic } });
    expect(await setPublic(true)).toMatchObject({ status: 200 });
    const attacker = { ...stack.connection, apiKey: attackerKey };
    const used = await Sandbox.create({ ...attacker, template: `${PROJECT}/victims-template` });
    await used.kill();
    expect(await setPublic(false)).toMatchObject({ status: 200 });
    const again = { key: victim.apiKey, body: { alias: 'victims-template' } };
    expect(await ask('POST', '/v2/templates', again)).toMatchObject({
      status: 202,
      text: expect.stringContaining('"spawnCount":0'),
    });
    expect((await ask('DELETE', `/templates/${templateID}`)).status).toBe(204);
    expect(await templates.exists('victims-template', victim)).toBe(true);
  },
);

attackFromOutside(
  'changing something with a key that may only read, or learning a token with it',
  'the access of each operation, and replies without tokens',
  async () => {
    const { key, keyId } = await apiKeys.create({
      ...stack.connection,
      name: 'reader',
      project: PROJECT,
      readOnly: true,
    });
    keyIds.push(keyId);
    const reading = ['POST /skerry/v1/snapshots/{snapshotID}/verify'];
    for (const { method, path, operation } of operations) {
      const route = `${method} ${path}`;
      // The answer packs the whole image.
      if (route === 'GET /skerry/v1/images/{templateID}') continue;
      const { status, text } = await ask(method, fill(path, foreign), { key, body: exampleOf(operation) });
      const isRead = (method === 'GET' && !path.endsWith('/files/{hash}')) || reading.includes(route);
      if (!isRead) expect([route, status]).toEqual([route, 403]);
      expect([route, text]).not.toContainEqual(expect.stringContaining('envdAccessToken'));
    }
    expect((await ask('GET', `/sandboxes/${sandbox.sandboxId}`, { key })).status).toBe(200);
    expect((await ask('GET', `/sandboxes/${sandbox.sandboxId}`, { key: victim.apiKey })).text).toContain(
      'envdAccessToken',
    );
  },
);

attackFromOutside(
  'exceeding the limits of a key by many calls at once, by a resume, or by a fork',
  'limits that the transaction of each place checks, and a count of calls',
  async () => {
    const limits = { sandboxes: 2 };
    const { key, keyId } = await apiKeys.create({
      ...stack.connection,
      name: 'greedy',
      project: ATTACKER,
      limits,
    });
    keyIds.push(keyId);
    const create = () => ask('POST', '/v2/sandboxes', { key, body: { templateID: 'base', timeout: 120 } });
    const made = await Promise.all(Array.from({ length: 6 }, create));
    const [first = '', second = ''] = made
      .filter(({ status }) => status === 201)
      .map(({ text }) => (JSON.parse(text) as { sandboxID: string }).sandboxID);
    expect(made.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      ...[201, 201, 429, 429, 429, 429],
    ]);
    expect(made.find(({ status }) => status === 429)?.text).toContain('greedy');
    const fork = await ask('POST', `/v2/sandboxes/${first}/fork`, { key, body: { memory: false } });
    expect(fork.text).toContain('is limited to 2 running sandboxes');
    const pause = { key, body: { memory: false } };
    expect(await ask('POST', `/sandboxes/${second}/pause`, pause)).toMatchObject({ status: 204 });
    const third = await create();
    expect(third.status).toBe(201);
    const resume = await ask('POST', `/v2/sandboxes/${second}/connect`, { key, body: {} });
    expect(resume).toMatchObject({ status: 429, text: expect.stringContaining('has 2') });
    await apiKeys.setLimits(keyId, { requestsPerSecond: 1 }, stack.connection);
    const calls = await Promise.all(Array.from({ length: 20 }, () => ask('GET', '/teams', { key })));
    expect(calls.find(({ status }) => status === 429)?.text).toContain('per second on each server');
    const { sandboxID } = JSON.parse(third.text) as { sandboxID: string };
    for (const id of [first, second, sandboxID]) await Sandbox.kill(id, stack.connection);
  },
);
