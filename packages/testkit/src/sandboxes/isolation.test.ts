import { release } from 'node:os';
import type { IsolationLevel } from '@skerry/contract/isolation';
import operations from '@skerry/contract/operations.json' with { type: 'json' };
import { nodes, Sandbox } from '@skerry/sdk';
import { build, Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';

let stack: SharedStack;
const made: Sandbox[] = [];

beforeAll(async () => {
  stack = await joinStack();
});
afterAll(async () => {
  await Promise.all(made.map((sandbox) => sandbox.kill()));
  await stack.leave();
});

const keep = (sandbox: Sandbox): Sandbox => {
  made.push(sandbox);
  return sandbox;
};
const open = async (isolation?: IsolationLevel): Promise<Sandbox> =>
  keep(await Sandbox.create({ ...stack.connection, isolation, timeoutMs: 300_000 }));

/** The level by the kernel that a program inside sees, and the one that the service reports. */
const levelsOf = async (sandbox: Sandbox) => {
  const { stdout } = await sandbox.commands.run('uname -r');
  return [stdout.trim() === release() ? 'container' : 'gvisor', (await sandbox.getInfo()).isolation];
};

const found = (sandboxId: string): Promise<Sandbox> => Sandbox.connect(sandboxId, stack.connection);

it('runs sandboxes of both levels side by side, and lists the level of each', async () => {
  const [plain, guarded] = await Promise.all([open(), open('gvisor')]);
  expect(await levelsOf(plain)).toEqual(['container', 'container']);
  expect(await levelsOf(guarded)).toEqual(['gvisor', 'gvisor']);
  const { data } = await stack.api.GET('/v2/sandboxes', {});
  const listed = new Map(data?.map(({ sandboxID, isolation }) => [sandboxID, isolation]));
  expect([listed.get(plain.sandboxId), listed.get(guarded.sandboxId)]).toEqual(['container', 'gvisor']);
  expect(await nodes.explain(guarded.sandboxId, stack.connection)).toMatchObject({ isolation: 'gvisor' });
});

it('starts the processes of a snapshot at its level alone, and its files at a higher one too', async () => {
  const source = await open();
  const whole = await source.createSnapshot();
  await expect(
    Sandbox.create({ ...stack.connection, template: whole.snapshotId, isolation: 'gvisor' }),
  ).rejects.toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('body.isolation') });
  const files = await source.createSnapshot({ memory: false });
  const raised = keep(
    await Sandbox.create({ ...stack.connection, template: files.snapshotId, isolation: 'gvisor' }),
  );
  expect(await levelsOf(raised)).toEqual(['gvisor', 'gvisor']);
});

it('makes a template of the files of a higher level, below which none of its sandboxes starts', async () => {
  const { snapshotId } = await (await open('gvisor')).createSnapshot({ memory: false });
  await build(Template().fromTemplate(snapshotId), 'raised', stack.connection).result();
  expect(await levelsOf(keep(await Sandbox.create({ ...stack.connection, template: 'raised' })))).toEqual([
    'gvisor',
    'gvisor',
  ]);
});

/** The id of the first copy in the answer of a fork. */
const toCopyId = ([first]: ({ sandbox: { sandboxID: string } } | { error: object })[] = []): string =>
  first !== undefined && 'sandbox' in first ? first.sandbox.sandboxID : '';

/** The operations that answer with a sandbox or copies of one: what each makes of a running sandbox of level gvisor, on a server whose default is container. */
const ways: Record<string, (source: Sandbox) => Promise<Sandbox>> = {
  'POST /sandboxes': async () => {
    const { data } = await stack.api.POST('/sandboxes', {
      body: { templateID: 'base', timeout: 300, secure: true, isolation: 'gvisor' },
    });
    return keep(await found(data?.sandboxID ?? ''));
  },
  'POST /v2/sandboxes': async (source) => {
    const { snapshotId } = await source.createSnapshot();
    return keep(await Sandbox.create({ ...stack.connection, template: snapshotId }));
  },
  'POST /sandboxes/{sandboxID}/resume': async (source) => {
    await source.pause();
    const params = { path: { sandboxID: source.sandboxId } };
    await stack.api.POST('/sandboxes/{sandboxID}/resume', { params, body: { timeout: 300 } });
    return source;
  },
  'POST /sandboxes/{sandboxID}/connect': async (source) => {
    await source.pause({ memory: false });
    const params = { path: { sandboxID: source.sandboxId } };
    await stack.api.POST('/sandboxes/{sandboxID}/connect', { params, body: { timeout: 300 } });
    return source;
  },
  'POST /v2/sandboxes/{sandboxID}/connect': async (source) => {
    await source.pause();
    return found(source.sandboxId);
  },
  'POST /sandboxes/{sandboxID}/fork': async (source) => {
    const params = { path: { sandboxID: source.sandboxId } };
    const { data } = await stack.api.POST('/sandboxes/{sandboxID}/fork', { params, body: {} });
    return keep(await found(toCopyId(data)));
  },
  'POST /v2/sandboxes/{sandboxID}/fork': async (source) => {
    const params = { path: { sandboxID: source.sandboxId } };
    const body = { memory: false };
    const { data } = await stack.api.POST('/v2/sandboxes/{sandboxID}/fork', { params, body });
    return keep(await found(toCopyId(data)));
  },
};

/** The operations of the document that answer with a sandbox which they have made or started. */
const startingOperations = Object.entries(operations.paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, { responses?: object; requestBody?: object }>).flatMap(
    ([method, { responses, requestBody }]) =>
      method === 'post' && JSON.stringify(responses ?? {}).includes('"trafficAccessToken"')
        ? [{ name: `POST ${path}`, hasTemplate: JSON.stringify(requestBody ?? {}).includes('"templateID"') }]
        : [],
  ),
);

/** Those that create it from a template. */
const creatingPaths = ['/sandboxes', '/v2/sandboxes'] as const;

it('knows each way in which a sandbox comes to run', () => {
  expect(Object.keys(ways).toSorted()).toEqual(startingOperations.map(({ name }) => name).toSorted());
  const creating = startingOperations.filter(({ hasTemplate }) => hasTemplate).map(({ name }) => name);
  expect(creating).toEqual(creatingPaths.map((path) => `POST ${path}`));
});

describe('a template that demands a level', () => {
  beforeAll(async () => {
    const template = Template().fromTemplate('base').run('uname -r > /home/user/kernel');
    await build(template, 'guarded', { ...stack.connection, isolation: 'gvisor' }).result();
  });

  it('is built at that level, and listed with it', async () => {
    const { data: all } = await stack.api.GET('/templates', {});
    const listed = all?.find(({ aliases }) => aliases.includes('guarded'));
    const params = { path: { templateID: 'guarded' } };
    const { data } = await stack.api.GET('/templates/{templateID}', { params });
    expect([listed?.isolation, data?.builds[0]?.isolation]).toEqual(['gvisor', 'gvisor']);
    const sandbox = keep(await Sandbox.create({ ...stack.connection, template: 'guarded' }));
    expect(await sandbox.files.read('/home/user/kernel')).toMatch(/^4\.4\.0/);
  });

  it('gives it to templates that begin with it, which may not demand less', async () => {
    const child = Template().fromTemplate('guarded');
    await build(child, 'child', stack.connection).result();
    const made = keep(await Sandbox.create({ ...stack.connection, template: 'child' }));
    expect(await levelsOf(made)).toEqual(['gvisor', 'gvisor']);
    const lowered = build(child, 'lowered', { ...stack.connection, isolation: 'container' }).result();
    await expect(lowered).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(
        /^body\.fromTemplate must not be of a higher level of isolation than "container"/,
      ),
    });
  });

  it.each(creatingPaths)('starts no sandbox below it: POST %s', async (path) => {
    const body = { templateID: 'guarded', timeout: 300 } as const;
    const { data } = await stack.api.POST(path, { body });
    expect(await levelsOf(keep(await found(data?.sandboxID ?? '')))).toEqual(['gvisor', 'gvisor']);
    const { response, error } = await stack.api.POST(path, { body: { ...body, isolation: 'container' } });
    expect([response.status, error?.message]).toEqual([
      400,
      'body.isolation: "container" is below "gvisor", which the template demands',
    ]);
  });
});

it.each(Object.entries(ways))('never gives less than was asked for: %s', async (_operation, go) => {
  const sandbox = await go(await open('gvisor'));
  expect(await levelsOf(sandbox)).toEqual(['gvisor', 'gvisor']);
});

it('wakes a sandbox at its level', async () => {
  const sandbox = keep(
    await Sandbox.create({ ...stack.connection, isolation: 'gvisor', autoResume: true, timeoutMs: 300_000 }),
  );
  await sandbox.pause();
  await fetchByHost(sandbox.getUrl(8_000));
  expect(await levelsOf(await found(sandbox.sandboxId))).toEqual(['gvisor', 'gvisor']);
});
