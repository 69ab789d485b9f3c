import { createServer } from 'node:net';
import { Sandbox, SandboxError } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { expect, it } from 'vitest';
import { explainFailure } from './explain-failure.ts';

const failureOf = async (apiUrl: string) => {
  const error = await Sandbox.getInfo('i1', { apiUrl, apiKey: 'key' }).catch((reason: unknown) => reason);
  return explainFailure(error);
};

const listen = async (greeting: string | undefined): Promise<{ port: number } & AsyncDisposable> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => (greeting === undefined ? socket.destroy() : socket.end(greeting)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
};

it('names the command that starts a server when none listens', async () => {
  const { port, ...server } = await listen('');
  await server[Symbol.asyncDispose]();
  expect(await failureOf(`http://127.0.0.1:${port}`)).toMatchObject({
    hint: expect.stringContaining('skerry up'),
  });
});

it('says which protocol the server speaks when the URL has the other one', async () => {
  await using plain = await listen('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
  const https = await failureOf(`https://127.0.0.1:${plain.port}`);
  expect(https?.hint).toMatch(/speaks http: write http:\/\//);
  expect(https?.message).not.toContain('\n');
  // What a server of TLS answers to a plain request: an alert, which is no HTTP.
  await using secured = await listen('\x15\x03\x01\x00\x02\x02\x46');
  const http = await failureOf(`http://127.0.0.1:${secured.port}`);
  expect(http?.hint).toMatch(/speaks https: write https:\/\//);
});

it('names the option that carries the key when the key is refused', () => {
  const refused = new SandboxError('unauthenticated', 'the key is unknown');
  expect(explainFailure(refused)).toMatchObject({ message: 'the key is unknown' });
  expect(explainFailure(refused)?.hint).toContain('--api-key');
});

it('has a hint for what is unknown, and for a value that the service refuses', () => {
  const missing = new SandboxError('not_found', 'sandbox "i1" not found');
  expect(explainFailure(missing, 'sandbox')).toEqual({
    message: 'sandbox "i1" not found',
    hint: expect.stringContaining('skerry sandbox list'),
  });
  expect(explainFailure(missing, 'template')?.hint).toContain('skerry template list');
  expect(explainFailure(missing)?.hint).toBeUndefined();
  expect(explainFailure(new SandboxError('invalid_argument', 'too large'))?.hint).toContain('--help');
});

it('names the option that chooses another port when one is taken', async () => {
  await using taken = await listen('');
  const error = await new Promise<Error>((resolve) => {
    createServer().once('error', resolve).listen(taken.port, '127.0.0.1');
  });
  expect(explainFailure(error)).toEqual({
    message: `listen EADDRINUSE: address already in use 127.0.0.1:${taken.port}`,
    hint: 'name another port by --port, 0 for a free one',
  });
});

it('passes on what the command line says itself, and explains no defect', () => {
  expect(explainFailure(new UserError('name a command'))).toEqual({ message: 'name a command' });
  const told = { hint: 'name another', output: ['E: no lists'] };
  expect(explainFailure(new UserError('it failed', told))).toEqual({ message: 'it failed', ...told });
  expect(explainFailure(new TypeError('x is undefined'))).toBeUndefined();
});

it('names the option that a user typed in place of the field of the request', () => {
  const refused = new SandboxError(
    'invalid_argument',
    'body.timeout must be at most 3600, got 7200; body.other',
  );
  expect(explainFailure(refused)?.message).toBe('--timeout must be at most 3600, got 7200; body.other');
});
