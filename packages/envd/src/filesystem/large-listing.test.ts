import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, fromBinary, fromJson, type JsonValue } from '@bufbuild/protobuf';
import { createContextValues } from '@connectrpc/connect';
import { EntryInfoSchema, ListDirResponseSchema } from '@skerry/envd-client/filesystem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';
import { answerListing } from './large-listing.ts';

const COUNT = 3000;
let agent: TestAgent;
let dir: string;
const expected: string[] = [];
beforeAll(async () => {
  agent = await startAgent();
  dir = join(agent.dir, 'many');
  mkdirSync(dir);
  for (let at = 0; at < COUNT; at += 1) {
    const name = `file "${at}" ä`;
    expected.push(name);
    writeFileSync(join(dir, name), 'x'.repeat(at % 3));
  }
  expected.sort();
});
afterAll(() => agent.stop());

const list = (type: string, body: Uint8Array, headers: Record<string, string> = {}) =>
  agent.http({
    method: 'POST',
    path: '/filesystem.Filesystem/ListDir',
    headers: { 'content-type': type, 'connect-protocol-version': '1', ...headers },
    body,
  });

describe('a list of thousands of entries', () => {
  it('is whole and in order in JSON, with its length told and sizes as numbers', async () => {
    const answer = await list('application/json', Buffer.from(JSON.stringify({ path: dir })));
    expect([answer.status, answer.headers['content-length']]).toEqual([200, String(answer.body.length)]);
    const { entries } = fromJson(ListDirResponseSchema, answer.json as JsonValue);
    expect(entries.map(({ name }) => name)).toEqual(expected);
    const raw = (answer.json as { entries: { size?: number }[] }).entries;
    expect(new Set(raw.map(({ size }) => size))).toEqual(new Set([undefined, 1, 2]));
  });

  it('is whole and in order in binary', async () => {
    const request = Buffer.concat([Buffer.from([0x0a, Buffer.byteLength(dir)]), Buffer.from(dir)]);
    const answer = await list('application/proto', request);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/proto']);
    const { entries } = fromBinary(ListDirResponseSchema, answer.body);
    expect(entries.map(({ name }) => name)).toEqual(expected);
    expect(entries.reduce((sum, { size }) => sum + Number(size), 0)).toBe(
      expected.reduce((sum, name) => sum + (Number(/\d+/.exec(name)?.[0]) % 3), 0),
    );
  });

  it('is reduced for clients that decode strictly', async () => {
    const headers = { 'user-agent': 'connect-python' };
    const answer = await list('application/json', Buffer.from(JSON.stringify({ path: dir })), headers);
    const { entries } = answer.json as { entries: object[] };
    expect(entries).toHaveLength(COUNT);
    expect(new Set(entries.flatMap(Object.keys))).toEqual(new Set(['name', 'type', 'path']));
  });

  it('is refused when it would have more than 64 MiB', async () => {
    const entry = create(EntryInfoSchema, { name: 'x', path: `/${'x'.repeat(4000)}` });
    async function* batches() {
      for (let count = 0; count < 70; count += 1) yield Array.from({ length: 256 }, () => entry);
    }
    const context = { requestHeader: new Headers(), values: createContextValues() };
    await expect(answerListing(batches(), context)).rejects.toMatchObject({ code: 'resource_exhausted' });
  });
});
