import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Stack, startStack } from '../stack/stack.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { readCodeBlocks } from './code-blocks.ts';
import { createReader, type Reader } from './reader.ts';

interface Operation {
  'x-skerry-status'?: string;
}
type PathItem = { servers?: { url: string }[] } & Record<string, Operation | undefined>;

const verbs = ['get', 'post', 'put', 'patch', 'delete'] as const;
/** Not the one that tests share: the page removes what all builds have kept, also those of other tests. */
let stack: Stack;
let reader: Reader;
/** Each call that the program of the page made: its operation, and the status of the answer. */
let calls: { key: string; status: number }[];

/** The operations of the platform. */
const operations = new Set<string>(
  Object.entries(
    (
      parse(readFileSync(join(workspaceRoot, 'specs/openapi.yaml'), 'utf8')) as {
        paths: Record<string, PathItem>;
      }
    ).paths,
  )
    .filter(([, { servers = [] }]) => !servers.some(({ url }) => url.includes('{sandboxID}')))
    .flatMap(([path, item]) =>
      verbs.flatMap((verb) => (item[verb] === undefined ? [] : [`${verb.toUpperCase()} ${path}`])),
    ),
);

/** Preloaded into the program: writes each request with the status of its answer to a file. */
const recorder = (file: string): string => `import { appendFileSync } from 'node:fs';
const { fetch } = globalThis;
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  const response = await fetch(request);
  appendFileSync('${file}', JSON.stringify([request.method, new URL(request.url).pathname, response.status]) + '\\n');
  return response;
};
`;

/** The operation of a request; a fixed segment wins over a parameter. */
const findOperation = (method: string, pathname: string): string =>
  [...operations]
    .filter((key) => key.startsWith(`${method} `))
    .toSorted((a, b) => a.split('{').length - b.split('{').length)
    .find((key) => new RegExp(`^${key.split(' ')[1]?.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname)) ??
  `${method} ${pathname}`;

beforeAll(async () => {
  stack = await startStack();
  reader = createReader(stack.address);
  const blocks = readCodeBlocks('packages/platform-client/README.md').filter(
    ({ language }) => language === 'ts',
  );
  reader.write('readme.ts', blocks.map(({ text }) => text).join('\n'));
  reader.check(['readme.ts']);
  const record = join(reader.path, 'calls.jsonl');
  writeFileSync(record, '');
  reader.write('recorder.mjs', recorder(record));
  await reader.run(process.execPath, ['--import', './recorder.mjs', 'readme.ts']);
  calls = readFileSync(record, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as [string, string, number])
    .map(([method, pathname, status]) => ({ key: findOperation(method, pathname), status }));
});
afterAll(async () => {
  reader[Symbol.dispose]();
  await stack.down();
});

it('has an example of each operation of the document in its README', () => {
  const called = new Set(calls.map(({ key }) => key));
  expect([...operations].filter((key) => !called.has(key))).toEqual([]);
});

it('succeeds with each example, but gets 404 for nodes, of which it has none', () => {
  const unexpected = calls.filter(({ key, status }) =>
    key.includes('{nodeName}') ? status !== 404 : status >= 300,
  );
  expect(unexpected).toEqual([]);
});
