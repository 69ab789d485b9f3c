import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Sandbox } from '@skerry/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createAgentProcess } from '../agent-rules/agent-process.ts';
import { type NewestE2b, testedClients } from '../e2b/clients.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive, toFilesHash } from './archive.ts';
import { type BuildClient, createBuildClient } from './build-client.ts';
import { type DebianRegistry, startDebianRegistry } from './debian-registry.ts';

let stack: Stack;
let registry: DebianRegistry;
let builds: BuildClient;
let templateID: string;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-contexts-'));
const scratch = mkdtempSync(join(tmpdir(), 'skerry-scratch-'));
const contexts = join(dataDir, 'contexts');
const MIB = 2 ** 20;

const start = async (): Promise<void> => {
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
  builds = createBuildClient(stack);
};
beforeAll(async () => {
  registry = await startDebianRegistry();
  copyFileSync('/bin/busybox', join(scratch, 'echo'));
  await registry.push('test/scratch', { folder: scratch });
  await start();
  ({ templateID } = await builds.register('uploads'));
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [scratch, dataDir]) rmSync(folder, { recursive: true, force: true });
});

/** The name of the file of an upload with this hash: a hash counts for one project, here for the default one. */
const toKeptName = (hash: string): string => createHash('sha256').update(`local:${hash}`).digest('hex');

const copyStep = (hash: string, ...args: string[]) => ({ type: 'COPY', args, filesHash: hash });
const readAll = async (template: string, command: string): Promise<string> => {
  const sandbox = await Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
  try {
    return (await sandbox.commands.run(command, { user: 'root' })).stdout;
  } finally {
    await sandbox.kill();
  }
};

describe('an upload link', () => {
  const hash = toFilesHash('link');
  const put = async (url: string, body: BodyInit = 'archive') => {
    const response = await fetch(url, { method: 'PUT', body });
    return { status: response.status, text: await response.text() };
  };
  const getUrl = async (): Promise<URL> => new URL((await builds.getLink(templateID, hash)).data?.url ?? '');

  it('takes an archive without a key, and tells from then on that it is present', async () => {
    const link = await builds.getLink(templateID, hash);
    expect([link.response.status, link.data?.present]).toEqual([201, false]);
    expect(link.data?.url).toMatch(new RegExp(`^${stack.address.apiUrl}/skerry/v1/templates/`));
    expect(await put(link.data?.url ?? '', 'first')).toEqual({ status: 204, text: '' });
    expect((await builds.getLink('uploads', hash)).data).toMatchObject({
      present: true,
      url: expect.any(String),
    });
    expect(await put(link.data?.url ?? '', 'second')).toMatchObject({ status: 204 });
    expect(readFileSync(join(contexts, toKeptName(hash)), 'utf8')).toBe('second');
    const url = await getUrl();
    const bodies = ['a', 'b', 'c'].map((letter) => letter.repeat(MIB));
    expect(await Promise.all(bodies.map(async (body) => (await put(url.href, body)).status))).toEqual([
      204, 204, 204,
    ]);
    expect(bodies).toContain(readFileSync(join(contexts, toKeptName(hash)), 'utf8'));
    expect(readdirSync(contexts)).toEqual([toKeptName(hash)]);
  });

  it('is given for templates that are built, and for hashes', async () => {
    expect((await builds.getLink('unknown', hash)).response.status).toBe(404);
    expect((await builds.getLink('base', hash)).response.status).toBe(404);
    const tagged = await builds.getLink('uploads:default', hash);
    expect([tagged.response.status, tagged.error?.message]).toEqual([
      404,
      expect.stringContaining('uploads:default'),
    ]);
    for (const wrong of ['abc', hash.toUpperCase(), `${hash}0`])
      expect((await builds.getLink(templateID, wrong)).response.status).toBe(400);
  });

  it('is refused when it is forged, for other files or expired', async () => {
    const forged = await getUrl();
    forged.searchParams.set('signature', '0'.repeat(64));
    const other = await getUrl();
    other.pathname = other.pathname.replace(toKeptName(hash), toFilesHash('other'));
    const bare = await getUrl();
    bare.search = '';
    for (const url of [forged, other, bare])
      expect(await put(url.href)).toMatchObject({
        status: 403,
        text: expect.stringContaining('not one of this server'),
      });
    const expired = await getUrl();
    const secret = readFileSync(join(dataDir, 'secret'), 'utf8').trim();
    const signature = createHmac('sha256', secret)
      .update(`upload:${templateID}:${toKeptName(hash)}:1000`)
      .digest('hex');
    expired.search = new URLSearchParams({ expires: '1000', signature }).toString();
    expect(await put(expired.href)).toMatchObject({ status: 403, text: expect.stringContaining('expired') });
  });

  it('keeps nothing of a body that is cut off, empty or too large, and the server goes on', async () => {
    const before = readdirSync(contexts);
    const url = await getUrl();
    const begin = (headers: Record<string, string | number>) => request(url, { method: 'PUT', headers });
    for (const headers of [{ 'content-length': 10_000 }, {}]) {
      const cut = begin(headers).on('error', () => undefined);
      cut.write('x'.repeat(1_000));
      await expect.poll(() => readdirSync(contexts).length).toBe(before.length + 1);
      cut.destroy();
      await expect.poll(() => readdirSync(contexts)).toEqual(before);
    }
    const large = begin({ 'content-length': 3 * 2 ** 30 }).on('error', () => undefined);
    large.flushHeaders();
    const [response] = await once(large, 'response');
    expect(response.statusCode).toBe(413);
    large.destroy();
    expect((await put(url.href, '')).status).toBe(400);
    expect(readdirSync(contexts)).toEqual(before);
  });
});

describe('a step that copies files', () => {
  it('copies files, folders, patterns and links, with owners and modes', async () => {
    const registered = await builds.register('copied');
    const folder = [
      { name: 'app/', type: 'directory' as const, mode: 0o755 },
      { name: 'app/run.sh', mode: 0o755, content: 'run' },
      { name: 'app/sub/data', mode: 0o640, content: 'data' },
      { name: 'app/link', type: 'symlink' as const, linkname: 'sub/data' },
    ];
    const one = await makeArchive([{ name: 'conf/a.conf', mode: 0o600, content: 'a' }]);
    const uploads = {
      one,
      zipped: gzipSync(await makeArchive(folder)),
      more: await makeArchive([
        { name: 'more/', type: 'directory' },
        { name: 'more/sub/other', content: 'other' },
      ]),
      pattern: await makeArchive([
        { name: 'text/a.txt', content: 'a' },
        { name: 'text/in/b.txt', content: 'b' },
      ]),
    };
    const hashes = Object.fromEntries(Object.keys(uploads).map((name) => [name, toFilesHash(name)]));
    for (const [name, bytes] of Object.entries(uploads))
      expect(await builds.upload(registered.templateID, hashes[name] ?? '', bytes)).toBe(204);
    const { one: file = '', zipped = '', more = '', pattern = '' } = hashes;
    const done = await builds.build(registered, {
      fromTemplate: 'base',
      steps: [
        { type: 'ENV', args: ['DEST', '/opt'] },
        copyStep(file, 'conf/a.conf', '/etc/mine.conf', '', ''),
        copyStep(file, './conf/a.conf', 'relative/', '', ''),
        copyStep(file, 'conf/a.conf', '$DEST/owned', 'root:games', '0644'),
        { type: 'WORKDIR', args: ['/srv'] },
        { type: 'USER', args: ['worker'] },
        copyStep(zipped, 'app', 'app', '', ''),
        { ...copyStep(more, 'more', 'app', '', ''), type: 'ADD' },
        copyStep(pattern, 'text/**/*.txt', '.', '', ''),
        copyStep(zipped, 'app', '/private', '0:60', '0700'),
      ],
    });
    expect(done.reason).toBeUndefined();
    expect(done.logEntries.map(({ message }) => message)).toContain('step 7: COPY app app');
    const found = await readAll(
      'copied',
      `stat -c '%n %a %U:%G' /etc/mine.conf /home/user/relative/a.conf /opt/owned /srv/app /srv/app/run.sh \
        /srv/app/sub/data /srv/app/sub/other /srv/a.txt /srv/in/b.txt /private /private/run.sh /private/sub/data
       readlink /srv/app/link; cat /srv/app/link`,
    );
    expect(found.split('\n')).toEqual([
      '/etc/mine.conf 600 user:user',
      '/home/user/relative/a.conf 600 user:user',
      '/opt/owned 644 root:games',
      '/srv/app 755 worker:worker',
      '/srv/app/run.sh 755 worker:worker',
      '/srv/app/sub/data 640 worker:worker',
      '/srv/app/sub/other 644 worker:worker',
      '/srv/a.txt 644 worker:worker',
      '/srv/in/b.txt 644 worker:worker',
      '/private 700 root:games',
      '/private/run.sh 700 root:games',
      '/private/sub/data 700 root:games',
      'sub/data',
      'data',
    ]);
  });

  it('works in an image without a shell', async () => {
    const registered = await builds.register('copied-scratch');
    const hash = toFilesHash('scratch');
    await builds.upload(
      registered.templateID,
      hash,
      gzipSync(await makeArchive([{ name: 'a', content: 'in' }])),
    );
    const source = { fromImage: `${registry.host}/test/scratch` };
    const done = await builds.build(registered, {
      ...source,
      steps: [copyStep(hash, 'a', '/srv/b', '', '')],
    });
    expect(done.reason).toBeUndefined();
    const sandbox = await Sandbox.create({ ...stack.connection, template: 'copied-scratch' });
    expect(await sandbox.files.read('/srv/b')).toBe('in');
    await sandbox.kill();
  });

  it('fails with the name of an entry that would leave the destination, of a device, and of an unknown user', async () => {
    const cases = [
      [[{ name: '/etc/evil' }], '', 'entry "/etc/evil" of the archive has an absolute path'],
      [
        [{ name: 'out', type: 'symlink' as const, linkname: '/etc' }, { name: 'out/evil' }],
        '',
        'entry "out/evil" of the archive leaves the destination through a link',
      ],
      [
        [{ name: 'disk', type: 'character-device' as const }],
        '',
        'entry "disk" of the archive is a character-device',
      ],
      [[{ name: 'file' }], 'stranger', "invalid username: 'stranger'"],
    ] as const;
    const failures = cases.map(async ([entries, user, message], index) => {
      const registered = await builds.register(`hostile-${index}`);
      const hash = toFilesHash(`hostile-${index}`);
      await builds.upload(registered.templateID, hash, await makeArchive(entries));
      const steps = [{ type: 'RUN', args: ['true'] }, copyStep(hash, '.', '/srv/app', user, '')];
      expect(await builds.build(registered, { fromTemplate: 'base', steps })).toMatchObject({
        status: 'error',
        reason: { step: '2', message: expect.stringContaining(message) },
      });
    });
    await Promise.all(failures);
  });

  it('names itself when its files were not uploaded, are damaged or were removed since', async () => {
    const registered = await builds.register('missing');
    const hash = toFilesHash('missing');
    const fromTemplate = 'base';
    const steps = [{ type: 'RUN', args: ['sleep 2'] }, copyStep(hash, 'a', '/b', '', '')];
    const missing = await builds.start(registered, { fromTemplate, steps });
    expect([missing.response.status, missing.error?.message]).toEqual([
      400,
      expect.stringMatching(
        /^body\.steps\[1\]\.filesHash must be of uploaded files: those of 'a' were not uploaded/,
      ),
    ]);
    const without = [{ type: 'COPY', args: ['a', '/b', '', ''] }];
    const unnamed = await builds.start(registered, { fromTemplate, steps: without });
    expect([unnamed.response.status, unnamed.error?.message]).toEqual([
      400,
      expect.stringContaining('body.steps[0].filesHash'),
    ]);
    await builds.upload(registered.templateID, hash, 'no archive at all'.repeat(100));
    const damaged = await builds.build(registered, { fromTemplate, steps });
    expect(damaged.reason).toMatchObject({
      step: '2',
      message: expect.stringContaining('incomplete or damaged'),
    });
    const again = await builds.register('missing');
    expect((await builds.start(again, { fromTemplate, steps })).response.status).toBe(202);
    rmSync(join(contexts, toKeptName(hash)));
    expect((await builds.waitForEnd(again)).reason).toMatchObject({
      step: '2',
      message: expect.stringContaining('were removed since'),
    });
  });

  it('takes 256 MiB through a server that grows by less than 64 MiB', async () => {
    const content = Buffer.alloc(256 * MIB, 'large');
    const header = (await makeArchive([{ name: 'large', content: 'x'.repeat(1) }])).subarray(0, 512);
    header.write(`${content.length.toString(8).padStart(11, '0')} `, 124);
    header.fill(' ', 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const archive = async function* () {
      yield header;
      for (let at = 0; at < content.length; at += MIB) yield content.subarray(at, at + MIB);
      yield Buffer.alloc(1024);
    };
    const uploadAndBuild = async (name: string): Promise<void> => {
      const registered = await builds.register(name);
      const hash = toFilesHash(name);
      expect(await builds.upload(registered.templateID, hash, archive() as never)).toBe(204);
      const step = copyStep(hash, 'large', '/srv/large', '', '');
      const done = await builds.build(registered, { fromTemplate: 'base', steps: [step] });
      expect(done.reason).toBeUndefined();
    };
    const server = createAgentProcess(stack.pid);
    // Begins the peak anew: proc_pid_clear_refs(5).
    const beforeBytes = () => {
      writeFileSync(`/proc/${stack.pid}/clear_refs`, '5');
      return server.peakBytes();
    };
    // The first makes the heap of a server as large as uploads and builds need it.
    await uploadAndBuild('first');
    const before = beforeBytes();
    await uploadAndBuild('large');
    expect((server.peakBytes() - before) / MIB).toBeLessThan(64);
    expect(await readAll('large', 'stat -c %s /srv/large')).toBe(`${content.length}\n`);
  });
});

describe.each(testedClients.filter(({ generation }) => generation !== 'oldest'))('e2b $version', (client) => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-context-'));
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it('builds a template with files of a folder', async () => {
    mkdirSync(join(folder, 'app/sub'), { recursive: true });
    writeFileSync(join(folder, 'app/one.txt'), 'one');
    writeFileSync(join(folder, 'app/sub/run'), 'run', { mode: 0o755 });
    symlinkSync('sub', join(folder, 'app/link'));
    writeFileSync(join(folder, 'top.txt'), 'top');
    const { apiUrl, sandboxUrl, apiKey } = stack.address;
    vi.stubEnv('E2B_API_URL', apiUrl);
    vi.stubEnv('E2B_SANDBOX_URL', sandboxUrl);
    vi.stubEnv('E2B_API_KEY', apiKey);
    const { Template } = (await client.load()) as NewestE2b;
    const alias = `client-${client.generation}`;
    const template = Template({ fileContextPath: folder })
      .fromImage('e2bdev/base')
      .copy('app', '/srv/app')
      .copy('*.txt', '.')
      .copy('top.txt', '/srv/renamed', { user: 'root', mode: 0o600 })
      .copy('.', 'all/');
    const messages: string[] = [];
    const onBuildLogs = ({ message }: { message: string }): void => void messages.push(message);
    await Template.build(template, { alias, cpuCount: 1, memoryMB: 512, onBuildLogs });
    expect(messages).toContain("Uploaded 'app'");
    const found = await readAll(
      alias,
      `cd /srv; stat -c '%n %a %U' app/one.txt app/sub/run renamed; readlink app/link; cat app/link/run
       cat /home/user/top.txt /home/user/all/app/link/run`,
    );
    expect(found).toBe('app/one.txt 644 user\napp/sub/run 755 user\nrenamed 600 root\nsub\nruntoprun');
    messages.length = 0;
    await Template.build(template, { alias, cpuCount: 1, memoryMB: 512, onBuildLogs });
    // The hash that 2.19.4 makes of a folder with a link to another folder is not always the same.
    expect(messages).toContain("Skipping upload of 'top.txt', already cached");
  });
});

describe('the uploads of a server that starts again', () => {
  it('are removed after a day, as what an interrupted upload has left', async () => {
    const [old, fresh] = [toFilesHash('old'), toFilesHash('fresh')];
    for (const hash of [old, fresh]) await builds.upload(templateID, hash, 'archive');
    const yesterday = Date.now() / 1000 - 25 * 3600;
    utimesSync(join(contexts, toKeptName(old)), yesterday, yesterday);
    await stack.kill();
    writeFileSync(join(contexts, '.upload-left'), 'half');
    await start();
    expect(readdirSync(contexts)).toContain(toKeptName(fresh));
    expect([toKeptName(old), '.upload-left'].filter((name) => existsSync(join(contexts, name)))).toEqual([]);
  });
});
