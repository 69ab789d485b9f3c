import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UnusableImageError } from '../../images/template-images.ts';
import { emptyRunConfig } from '../../store/build-rows.ts';
import { EVERYTHING } from '../../store/scope.ts';
import { createStore } from '../../store/sqlite.ts';
import type { Store } from '../../store/store.ts';
import { levelOfBuild } from '../../templates/build-plan.ts';
import { toProjectHash } from '../../templates/uploads/project-hash.ts';
import { planBuild } from './plan-build.ts';

type Body = Parameters<typeof planBuild>[0];

/** A server with no names of its own for images, which has all uploaded files but one. */
const images = {
  findTarget: () => undefined,
  check: (reference: string) => {
    if (reference === 'unusable') throw new UnusableImageError('no reference');
  },
};
const absent = 'f'.repeat(64);
const buildFiles = { has: async (hash: string) => hash !== toProjectHash('shop', absent) };
const resources = { scope: EVERYTHING, project: 'shop', images, buildFiles, isolation: null };

describe('planBuild', () => {
  let folder: string;
  let store: Store;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'skerry-build-'));
    store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
    const size = { createdAt: 0, cpuCount: 2, memoryMb: 512, diskMb: 100 };
    await store.ensureTemplate({ project: 'local', id: 'tbase', name: 'base', ...size });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const parse = (body: object, isolation: IsolationLevel | null = null) =>
    planBuild(body as Body, { ...resources, store, isolation });
  const fromImageRegistry = { type: 'registry', username: 'someone', password: 'secret' };

  it('refuses sources of a higher level than the build demands, and takes it from them when it demands none', async () => {
    const size = { cpuCount: 1, memoryMb: 128, diskMb: 100, minFreeDiskMb: 0, tags: ['default'] };
    const build = { project: 'local', id: 'b1', createdAt: 1, ...size, isolation: 'gvisor' } as const;
    await store.addBuild(build, { templateId: 't1', name: 'guarded', superseded: 'superseded' });
    await store.startBuild('b1', 2);
    const made = {
      env: {},
      runConfig: emptyRunConfig,
      start: null,
      checkpointId: null,
      isolation: 'gvisor',
    } as const;
    await store.finishBuild('b1', { ...made, finishedAt: 3, image: 'i1', imageBytes: 1 });
    const body = { fromTemplate: 'guarded' };
    await expect(parse(body, 'container')).rejects.toThrow(
      'body.fromTemplate must not be of a higher level of isolation than "container", with which this build was registered',
    );
    await expect(parse({ fromImage: 'a', stages: [body] }, 'container')).rejects.toThrow(
      'body.stages[0].fromTemplate must not',
    );
    for (const isolation of [null, 'gvisor'] as const)
      for (const from of [body, { fromImage: 'a', stages: [body] }])
        expect(levelOfBuild({ isolation }, await parse(from, isolation))).toBe('gvisor');
    expect(levelOfBuild({ isolation: null }, await parse({ fromTemplate: 'base' }))).toBeNull();
  });

  it('takes credentials for an image that is pulled', async () => {
    expect((await parse({ fromImage: 'registry.test/a', fromImageRegistry })).source).toEqual({
      kind: 'image',
      reference: 'registry.test/a',
      credentials: { kind: 'password', username: 'someone', password: 'secret' },
    });
  });

  const aws = {
    type: 'aws',
    awsAccessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    awsSecretAccessKey: 'secret',
    awsRegion: 'eu-west-1',
  };
  const gcp = { type: 'gcp', serviceAccountJson: '{"type": "service_account"}' };

  it.each([
    [aws, { kind: 'aws', accessKeyId: aws.awsAccessKeyId, secretAccessKey: 'secret', region: 'eu-west-1' }],
    [
      { ...aws, type: undefined },
      { kind: 'aws', region: 'eu-west-1' },
    ],
    [gcp, { kind: 'password', username: '_json_key', password: gcp.serviceAccountJson }],
  ])('takes an access key of AWS and the key of a service account: %j', async (given, credentials) => {
    const { source } = await parse({ fromImage: 'registry.test/a', fromImageRegistry: given });
    expect(source).toMatchObject({ kind: 'image', credentials });
  });

  it.each([
    [{ type: 'registry', username: 'a' }, ' must have username, password'],
    [{ type: 'gcp' }, ' must have serviceAccountJson'],
    [{ ...aws, awsSecretAccessKey: '' }, ' must have awsAccessKeyId, awsSecretAccessKey, awsRegion'],
    [{ ...aws, awsAccessKeyId: 'a\nb: c' }, '.awsAccessKeyId is malformed'],
    [{ ...aws, awsRegion: 'evil.test/' }, '.awsRegion is malformed'],
    [{ ...aws, awsRegion: `eu-${'x'.repeat(40)}` }, '.awsRegion is malformed'],
    [{ ...gcp, serviceAccountJson: 'secret' }, '.serviceAccountJson must be the key of a service account'],
    [{ ...gcp, username: 'a' }, '.username does not go with type "gcp"'],
  ])(
    'refuses credentials that cannot be used, by the field and without its value: %j',
    async (given, message) => {
      const refused = parse({ fromImage: 'registry.test/a', fromImageRegistry: given });
      await expect(refused).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(`body.fromImageRegistry${message}`),
      });
      await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('secret') });
    },
  );

  it.each([{ fromTemplate: 'base' }, { fromImage: 'e2bdev/base' }])(
    'refuses credentials for what is not pulled: %j',
    async (source) => {
      expect(await parse(source)).toMatchObject({ source: { kind: 'template', name: 'base' } });
      await expect(parse({ ...source, fromImageRegistry })).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringMatching(/^body\.fromImageRegistry /),
      });
    },
  );

  it('takes an empty start or ready command for none, and refuses one that cannot be run', async () => {
    const none = { startCmd: undefined, readyCmd: undefined };
    expect(await parse({ fromTemplate: 'base', startCmd: '', readyCmd: '' })).toMatchObject(none);
    expect(await parse({ fromTemplate: 'base', startCmd: 'a', readyCmd: 'b' })).toMatchObject({
      startCmd: 'a',
      readyCmd: 'b',
    });
    for (const field of ['startCmd', 'readyCmd'])
      await expect(parse({ fromTemplate: 'base', [field]: 'a\0' })).rejects.toThrow(`body.${field} `);
  });

  it.each([
    [
      { type: 'ENV', args: ['1A', 'b'] },
      'must have names of variables that match [A-Za-z_][A-Za-z0-9_]*, got "1A"',
    ],
    [
      { type: 'USER', args: ['a b'] },
      'must name a user that matches [A-Za-z_][A-Za-z0-9_-]{0,31}, got "a b"',
    ],
  ])('says which names of variables and users it accepts', async (step, message) => {
    await expect(parse({ fromImage: 'a', steps: [step] })).rejects.toThrow(`body.steps[0].args ${message}`);
  });
});

describe('stages', () => {
  const image = { fromImage: 'a' };
  const parse = (body: object) => planBuild(body as Body, { ...resources, store: {} as Store });
  const mounting = (mount: object) => ({ ...image, steps: [{ type: 'RUN', args: ['a'], mounts: [mount] }] });
  const copy = (fromStage: number) => ({ type: 'COPY', args: ['/a', '/b'], fromStage });

  it('may be continued and copied from by what stands after them, and count the steps before', async () => {
    const run = { type: 'RUN', args: ['x'], shell: [] };
    const plan = await parse({
      stages: [
        { ...image, imageConfig: true, steps: [run] },
        { fromStage: 0, steps: [copy(0)] },
      ],
      fromImage: 'scratch',
      steps: [copy(1), { type: 'USER', args: ['1:g'], dockerfile: true }],
      command: ['a'],
    });
    expect(plan).toMatchObject({
      stages: [
        { usesConfig: true, stepsBefore: 0, steps: [{ type: 'RUN', shell: [], command: 'x' }] },
        { source: { kind: 'stage', index: 0 }, stepsBefore: 1 },
      ],
      stepsBefore: 2,
      steps: [{ from: { kind: 'stage', index: 1 } }, { name: '1:g', isCreated: false }],
      command: ['a'],
    });
  });

  it('have to run from the first forced step on, and so do all steps of the stages after it', async () => {
    const step = (force: boolean) => ({ type: 'RUN', args: ['x'], force });
    const plan = await parse({
      stages: [
        { ...image, steps: [step(false)] },
        { ...image, steps: [step(false), step(true), step(false)] },
        { ...image, steps: [step(false)] },
      ],
      fromStage: 0,
      steps: [step(true)],
    });
    const forced = [...plan.stages, plan].map(({ cacheableSteps, forcedStep }) => [
      cacheableSteps,
      forcedStep,
    ]);
    expect(forced).toEqual([
      [1, undefined],
      [1, 3],
      [0, 3],
      [0, 3],
    ]);
  });

  it.each<[object, string | RegExp]>([
    [
      { stages: [{ fromStage: 0 }], ...image },
      'body.stages[0].fromStage must be the number of an earlier stage, got 0',
    ],
    [{ fromStage: 0 }, 'body.fromStage must be the number of an earlier stage, got 0'],
    [{ ...image, steps: [copy(0)] }, 'body.steps[0].fromStage must be the number of an earlier stage, got 0'],
    [{ ...image, steps: [{ ...copy(0), type: 'ADD' }] }, 'body.steps[0].fromStage is for COPY'],
    [{ ...image, steps: [{ type: 'USER', args: ['a'], shell: [] }] }, 'body.steps[0].shell is for RUN'],
    [
      { ...image, steps: [{ type: 'RUN', args: ['a'], dockerfile: true }] },
      'body.steps[0].dockerfile is not for RUN',
    ],
    [{ ...image, steps: [{ type: 'RUN', args: ['a'], content: 'b' }] }, 'body.steps[0].content is for COPY'],
    [{ ...image, steps: [{ ...copy(0), content: 'b' }] }, 'body.steps[0].content does not go with fromStage'],
    [{ ...image, steps: [{ type: 'USER', args: ['a'], mounts: [] }] }, 'body.steps[0].mounts is for RUN'],
    [mounting({ type: 'bind', target: '/a' }), 'body.steps[0].mounts[0].filesHash is missing'],
    [
      mounting({ type: 'bind', target: '/a', fromStage: 3 }),
      'mounts[0].fromStage must be the number of an earlier stage, got 3',
    ],
    [mounting({ type: 'bind', target: '/a', id: 'b' }), 'mounts[0].id is for "cache"'],
    [
      mounting({ type: 'bind', target: '/a', filesHash: 'a'.repeat(64), source: '../b' }),
      'mounts[0].source must have a relative source',
    ],
    [mounting({ type: 'tmpfs', target: '/a', source: 'b' }), 'mounts[0].source needs fromStage'],
    [mounting({ type: 'cache', target: '/a', filesHash: 'b' }), 'mounts[0].filesHash is for "bind"'],
    [mounting({ type: 'cache', target: 'a\0' }), 'mounts[0].target must not contain NUL'],
    [
      { ...image, steps: [], platform: process.arch === 'x64' ? 'linux/arm64' : 'linux/amd64' },
      /^body\.platform must be linux\/\w+, for which this server builds, got linux\//,
    ],
    [
      { ...image, steps: [{ type: 'USER', args: ['a:b'] }] },
      'body.steps[0].args must name a user that matches',
    ],
    [{ ...image, startCmd: 'a', entrypoint: ['b'] }, 'body.entrypoint does not go with startCmd'],
    [{ ...image, readyCmd: 'a', healthcheck: ['b'] }, 'body.healthcheck does not go with readyCmd'],
    [{ ...image, command: ['a\0'] }, 'body.command must not contain NUL'],
    [
      {
        stages: [{ ...image, steps: Array(600).fill({ type: 'RUN', args: ['a'] }) }],
        ...image,
        steps: Array(401).fill({ type: 'RUN', args: ['a'] }),
      },
      'body.steps must be at most 1000 in all stages, got 1001',
    ],
    [
      {
        stages: [{ ...image, steps: [{ type: 'COPY', args: ['missing', '/'], filesHash: absent }] }],
        ...image,
      },
      "body.stages[0].steps[0].filesHash must be of uploaded files: those of 'missing' were not uploaded",
    ],
    [
      { stages: [{ fromImage: 'unusable' }], ...image },
      'body.stages[0].fromImage cannot be used: no reference',
    ],
  ])('and their like are refused by name: %j', async (body, message) => {
    await expect(parse(body)).rejects.toThrow(message);
  });
});
