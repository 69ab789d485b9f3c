import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Files } from '../files/files.ts';
import { Commands } from '../process/commands.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import { build } from '../template/build.ts';
import { Template } from '../template/index.ts';
import { templates } from '../template/templates.ts';
import { listen } from '../testing/listen.ts';
import { serveAgent } from '../testing/serve-agent.ts';

/** A server that nothing may call, and the answer that sends a client there. */
async function openTrap(): Promise<{ calls: string[]; address: string; sendThere: RequestListener }> {
  const calls: string[] = [];
  const host = await listen((request, response) => {
    calls.push(`${request.method} ${request.url} ${String(request.headers['x-access-token'])}`);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"secret":"of the service inside"}');
  });
  const address = `http://${host}/inside`;
  const sendThere: RequestListener = (request, response) => {
    request.resume();
    response.writeHead(307, { location: address, 'content-type': 'application/json' });
    response.end('{"code":"not_found","message":"moved"}');
  };
  return { calls, address, sendThere };
}

const refusal = (address: string) => ({
  code: 'internal',
  message: `the answer is a redirect to ${address}, which is not followed`,
});

it.each<[name: string, call: (files: Files, commands: Commands) => Promise<unknown>]>([
  ['a read', (files) => files.read('a')],
  ['a read as a stream', (files) => files.read('a', { format: 'stream' })],
  ['a write', (files) => files.write('a', 'text')],
  ['a compose', (files) => files.compose(['a'], 'b')],
  ['a call', (files) => files.list('.')],
  ['a watch', (files) => files.watchDir('.')],
  ['a command', (_files, commands) => commands.run('true')],
])('follows no redirect of an agent that answers %s', async (_name, call) => {
  const { calls, address, sendThere } = await openTrap();
  const { agent } = await serveAgent(() => undefined, sendThere);
  await expect(call(new Files(agent), new Commands(agent))).rejects.toMatchObject(refusal(address));
  await expect(agent.probe()).rejects.toMatchObject(refusal(address));
  expect(calls).toEqual([]);
});

it('follows no redirect of the API, with the key or the archive of an image', async () => {
  const { calls, address, sendThere } = await openTrap();
  const options = { apiKey: 'e2b_00', domain: await listen(sendThere) };
  await expect(Sandbox.create(options)).rejects.toMatchObject(refusal(address));
  await expect(templates.save('web', options)).rejects.toMatchObject(refusal(address));
  const load = templates.load('web', new Blob(['archive']), options);
  await expect(load.result()).rejects.toMatchObject(refusal(address));
  expect(calls).toEqual([]);
});

it('follows no redirect with the files of a build', async () => {
  const { calls, address, sendThere } = await openTrap();
  const domain = await listen((request, response) => {
    if (request.method === 'PUT') return sendThere(request, response);
    request.resume();
    const body = request.url?.includes('/files/')
      ? { present: false, url: '/upload' }
      : { templateID: 't', buildID: 'b', names: [], aliases: [], tags: [], public: false };
    response.writeHead(request.method === 'POST' ? 202 : 201, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  const context = mkdtempSync(join(tmpdir(), 'skerry-redirect-'));
  onTestFinished(() => rmSync(context, { recursive: true }));
  writeFileSync(join(context, 'a'), 'secret');
  const built = build(Template().fromImage('debian').copy('a', '/a'), 'web', {
    apiKey: 'e2b_00',
    domain,
    context,
  });
  await expect(built.result()).rejects.toMatchObject(refusal(address));
  expect(calls).toEqual([]);
});
