import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { createTemplateBuilds, type Registered } from './template-builds.ts';

// Every operation that takes a reference to a template takes each of its forms.

let stack: Stack;
let built: Registered;
let snapshot: Registered;
const { build, register, start } = createTemplateBuilds(() => stack);

beforeAll(async () => {
  stack = await startStack();
  built = await build('forms:v1', { fromTemplate: 'base', steps: [{ type: 'ENV', args: ['A', 'b'] }] });
  expect(built).toMatchObject({ status: 'ready' });
  await using sandbox = await create('base');
  const { snapshotId } = await sandbox.createSnapshot({ name: 'kept:v1', memory: false });
  expect(snapshotId).toBe('local/kept:v1');
  const { data } = await getTemplate('kept');
  snapshot = { templateID: data?.templateID ?? '', buildID: data?.builds[0]?.buildID ?? '' };
});
afterAll(() => stack.down());

const create = (template: string) => Sandbox.create({ ...stack.connection, template, timeoutMs: 60_000 });
const path = (templateID: string) => ({ params: { path: { templateID } } });
const getTemplate = (text: string) => stack.api.GET('/templates/{templateID}', path(text));
const listTags = async (text: string) => {
  const { data, response } = await stack.api.GET('/templates/{templateID}/tags', path(text));
  return [response.status, ...(data ?? []).map(({ tag, buildID }) => `${tag} ${buildID}`)];
};
const assign = (target: string, tags: string[]) =>
  stack.api.POST('/templates/tags', { body: { target, tags } });
const listSnapshots = async (name: string) =>
  (await stack.api.GET('/snapshots', { params: { query: { name } } })).data;

/** All forms of a reference to the state that the tag `v1` names. */
const formsOf = (name: string, { templateID, buildID }: Registered): string[] => [
  ...[name, ` ${name.toUpperCase()}`, `local/${name}`, templateID].flatMap((template) =>
    [':v1', `:${buildID}`].map((state) => `${template}${state}`),
  ),
];
/** References to the template alone. */
const wholesOf = (name: string, { templateID }: Registered): string[] => [name, `local/${name}`, templateID];
const unknown = ['forms:none', 'other/forms:v1', 'kept:none', 'base:none'];

/** Operations on a whole template, with the status that each answers for one of a build. */
const operations: [title: string, call: (text: string) => Promise<{ response: Response }>, status: number][] =
  [
    ['GET /templates/{templateID}', getTemplate, 200],
    [
      'PATCH /templates/{templateID}',
      (text) => stack.api.PATCH('/templates/{templateID}', { ...path(text), body: {} }),
      200,
    ],
    [
      'PATCH /v2/templates/{templateID}',
      (text) => stack.api.PATCH('/v2/templates/{templateID}', { ...path(text), body: {} }),
      200,
    ],
    [
      'GET /templates/{templateID}/tags',
      (text) => stack.api.GET('/templates/{templateID}/tags', path(text)),
      200,
    ],
    [
      'GET /templates/aliases/{alias}',
      (alias) => stack.api.GET('/templates/aliases/{alias}', { params: { path: { alias } } }),
      200,
    ],
    [
      'GET /templates/{templateID}/files/{hash}',
      (templateID) =>
        stack.api.GET('/templates/{templateID}/files/{hash}', {
          params: { path: { templateID, hash: 'a'.repeat(64) } },
        }),
      201,
    ],
    [
      'GET /templates/{templateID}/builds/{buildID}/status',
      (templateID) =>
        stack.api.GET('/templates/{templateID}/builds/{buildID}/status', {
          params: { path: { templateID, buildID: built.buildID } },
        }),
      200,
    ],
    [
      'GET /templates/{templateID}/builds/{buildID}/logs',
      (templateID) =>
        stack.api.GET('/templates/{templateID}/builds/{buildID}/logs', {
          params: { path: { templateID, buildID: built.buildID } },
        }),
      200,
    ],
    [
      'DELETE /skerry/v1/templates/{templateID}/builds/{buildID}',
      (templateID) =>
        stack.api.DELETE('/skerry/v1/templates/{templateID}/builds/{buildID}', {
          params: { path: { templateID, buildID: built.buildID } },
        }),
      204,
    ],
    // The build has ended, which is found out after the template.
    [
      'POST /v2/templates/{templateID}/builds/{buildID}',
      (templateID) => start({ templateID, buildID: built.buildID }, { fromTemplate: 'base' }),
      400,
    ],
  ];

describe('a reference to a template', () => {
  it.each(operations)('in %s may have each form, and its tag must exist', async (_, call, status) => {
    const accepted = [...wholesOf('forms', built), ...formsOf('forms', built)];
    for (const text of accepted) expect([text, (await call(text)).response.status]).toEqual([text, status]);
    for (const text of unknown) expect([text, (await call(text)).response.status]).toEqual([text, 404]);
  });

  it('lists the tags of a template of builds and of one of snapshots', async () => {
    for (const text of formsOf('forms', built))
      expect(await listTags(text)).toEqual([200, `v1 ${built.buildID}`]);
    for (const text of formsOf('kept', snapshot))
      expect(await listTags(text)).toEqual([200, `v1 ${snapshot.buildID}`]);
    const [, tag = ''] = await listTags('base');
    expect(await listTags(`base:${`${tag}`.split(' ')[1]}`)).toEqual([200, tag]);
  });

  it('names one snapshot in each form, where its content or its history is asked for', async () => {
    for (const text of formsOf('kept', snapshot)) {
      const of = { params: { path: { snapshotID: text } } };
      const { data } = await stack.api.GET('/skerry/v1/snapshots/{snapshotID}/log', of);
      expect([text, data?.[0]?.buildID]).toEqual([text, snapshot.buildID]);
      const verified = await stack.api.POST('/skerry/v1/snapshots/{snapshotID}/verify', of);
      expect([text, verified.data]).toEqual([text, { problems: [] }]);
      const query = { from: text, to: 'kept:v1' };
      const compared = await stack.api.GET('/skerry/v1/snapshots/diff', { params: { query } });
      expect([text, compared.response.status]).toEqual([text, 200]);
    }
  });

  it('selects sandboxes in the forms that name the template alone, and is refused in the others', async () => {
    const list = (template: string) => stack.api.GET('/v2/sandboxes', { params: { query: { template } } });
    await using sandbox = await create('forms:v1');
    for (const text of wholesOf('forms', built)) {
      const { data = [] } = await list(text);
      expect([text, data.map(({ sandboxID }) => sandboxID)]).toEqual([text, [sandbox.sandboxId]]);
    }
    for (const text of formsOf('forms', built)) {
      const { error } = await list(text);
      const message = expect.stringContaining('query.template must have no tag');
      expect([text, error]).toMatchObject([text, { code: 400, message }]);
    }
  });

  it('is the origin of a sandbox and of a build in each form', async () => {
    for (const [name, of] of [
      ['forms', built],
      ['kept', snapshot],
    ] as const)
      for (const text of formsOf(name, of)) {
        await using sandbox = await create(text);
        expect(sandbox.templateId).toBe(of.templateID);
        const registered = await register('from-forms');
        const { response } = await start(registered, { fromTemplate: text, startCmd: '', steps: [] });
        expect([text, response.status]).toEqual([text, 202]);
        await stack.api.DELETE('/templates/{templateID}', path('from-forms'));
      }
  });

  it('is the target of tags in each form, and deletes what it names', async () => {
    for (const [index, text] of formsOf('forms', built).entries()) {
      const { data, response } = await assign(text, [`t${index}`]);
      expect([text, response.status, data?.buildID]).toEqual([text, 201, built.buildID]);
    }
    expect((await assign(`forms:${snapshot.buildID}`, ['x'])).response.status).toBe(404);
    const removed = await stack.api.DELETE('/templates/tags', { body: { name: 'forms:v1', tags: ['t0'] } });
    expect(removed.response.status).toBe(204);
    const remove = (text: string) => stack.api.DELETE('/templates/{templateID}', path(text));
    expect((await remove('forms:t1')).response.status).toBe(204);
    expect((await listTags('forms')).length).toBe(1 + 7);
    expect((await remove(`forms:${built.buildID}`)).response.status).toBe(204);
    expect(await listTags('forms')).toEqual([200]);
    expect((await remove(`forms:${built.buildID}`)).response.status).toBe(404);
  });

  it('finds one snapshot: that of its tag, or the newest of its name', async () => {
    const v1 = [{ snapshotID: 'local/kept:v1', names: ['local/kept:v1'] }];
    for (const text of [...wholesOf('kept', snapshot), ...formsOf('kept', snapshot)])
      expect([text, await listSnapshots(text)]).toEqual([text, v1]);
    await using sandbox = await create('base');
    await sandbox.createSnapshot({ name: 'kept:v2', memory: false });
    const v2 = [{ snapshotID: 'local/kept:v2', names: ['local/kept:v2'] }];
    for (const text of wholesOf('kept', snapshot))
      expect([text, await listSnapshots(text)]).toEqual([text, v2]);
    for (const text of formsOf('kept', snapshot))
      expect([text, await listSnapshots(text)]).toEqual([text, v1]);
    for (const text of ['kept:none', 'none', 'other/kept'])
      expect([text, await listSnapshots(text)]).toEqual([text, []]);
  });
});

describe('a team in a call', () => {
  it('is refused with 400 and the name of the field unless it is the own one', async () => {
    for (const [team, status] of [
      ['local', 202],
      ['other', 400],
    ] as const) {
      const bodies = [
        stack.api.POST('/v3/templates', { body: { name: 'teams', teamID: team } as never }),
        stack.api.POST('/v2/templates', { body: { alias: 'teams', teamID: team } }),
      ];
      for (const { error, response } of await Promise.all(bodies)) {
        expect(response.status).toBe(status);
        if (status === 400) expect(error?.message).toContain('body.teamID');
      }
    }
    const query = { params: { query: { teamID: 'other' } } };
    for (const { error } of [
      await stack.api.GET('/templates', query),
      await stack.api.GET('/v2/templates', query),
    ])
      expect(error).toMatchObject({ code: 400, message: expect.stringContaining('query.teamID') });
  });
});
