import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

type Node = Record<string, unknown>;
interface Operation extends Node {
  operationId: string;
  description: string;
  'x-skerry'?: boolean;
}

const document = parse(readFileSync(new URL('../specs/openapi.yaml', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  METHODS.flatMap((method) => {
    const operation = item[method];
    return operation === undefined ? [] : [{ key: `${method.toUpperCase()} ${path}`, path, operation }];
  }),
);

describe('the OpenAPI document', () => {
  it('marks the operations below /skerry/v1/ as skerry’s own, and no others', () => {
    const marked = operations.filter(({ operation }) => operation['x-skerry'] === true);
    const below = operations.filter(({ path }) => path.startsWith('/skerry/v1/'));
    expect(marked.map(({ key }) => key)).toEqual(below.map(({ key }) => key));
    expect(below.length).toBeGreaterThan(0);
  });
});

describe('the proto files', () => {
  it('number skerry’s own fields from 1000 on, and name them skerry_', () => {
    const fields = ['process/process.proto', 'filesystem/filesystem.proto'].flatMap((name) =>
      [...readFileSync(new URL(`../specs/${name}`, import.meta.url), 'utf8').matchAll(/(\w+) = (\d+);/g)].map(
        ([, field, number]) => ({ isOwn: String(field).startsWith('skerry_'), number: Number(number) }),
      ),
    );
    expect(fields.filter(({ isOwn, number }) => isOwn !== number >= 1000)).toEqual([]);
    expect(fields.some(({ isOwn }) => isOwn)).toBe(true);
  });
});
