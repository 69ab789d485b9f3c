import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

type Node = Record<string, unknown>;
interface Operation extends Node {
  operationId: string;
  description: string;
  deprecated?: boolean;
  responses: Record<string, Node>;
  'x-skerry'?: boolean;
  'x-skerry-status'?: string;
}

const document = parse(readFileSync(new URL('../specs/openapi.yaml', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
  components: Record<'schemas' | 'responses' | 'examples', Record<string, Node>>;
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

  it('documents that each planned operation answers 501, and that each planned field is refused', () => {
    const planned = operations.filter(({ operation }) => operation['x-skerry-status'] === 'planned');
    for (const { key, operation } of planned) {
      expect(operation.description, key).toContain('it answers 501.');
      expect(Object.keys(operation.responses), key).toContain('501');
    }
    const fields = Object.entries(
      (document.components.schemas.NewSandboxCommon?.properties ?? {}) as Node,
    ).filter(([, field]) => (field as Node)['x-skerry-status'] === 'planned');
    expect(fields.map(([name]) => name)).toEqual(['volumeMounts', 'iam', 'mcp', 'sidecars']);
    for (const [name, field] of fields)
      expect((field as Node).description, name).toMatch(/Planned: .* 400\.$/);
  });

  it('uses no planned field in an example of a create', () => {
    const { value } = document.components.examples.NewSandbox as { value: Node };
    for (const name of ['volumeMounts', 'iam', 'mcp', 'sidecars']) expect(value).not.toHaveProperty(name);
  });

  it('gives the newest form of each operation the plain name, and marks older ones with their version as deprecated', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    for (const { operation } of operations) {
      const [, plain] = /^([a-z][A-Za-z]*?)V\d$/.exec(operation.operationId) ?? [];
      if (plain === undefined) continue;
      expect(ids).toContain(plain);
      expect(operation.deprecated, operation.operationId).toBe(true);
    }
  });

  it('declares the request id in every response', () => {
    const answers = [
      ...Object.values(document.components.responses),
      ...operations.flatMap(({ operation }) => Object.values(operation.responses)),
    ];
    expect(answers.filter((answer) => !('$ref' in answer) && !hasRequestId(answer))).toEqual([]);
  });

  it('declares Retry-After for each 429 and 503', () => {
    const { TooManyRequests, TooManyConnections, ServiceUnavailable } = document.components.responses;
    for (const response of [TooManyRequests, TooManyConnections, ServiceUnavailable])
      expect(response?.headers).toHaveProperty('Retry-After');
    const shared = ['TooManyRequests', 'TooManyConnections', 'ServiceUnavailable'].map((name) => ({
      $ref: `#/components/responses/${name}`,
    }));
    for (const { operation } of operations)
      for (const status of ['429', '503'])
        if (operation.responses[status] !== undefined)
          expect(shared).toContainEqual(operation.responses[status]);
  });

  it('describes every schema and every property', () => {
    const undescribed = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      findUndescribed(schema, name),
    );
    expect(undescribed).toEqual([]);
  });
});

const hasRequestId = ({ headers = {} }: { headers?: Node }): boolean => 'X-Request-Id' in headers;

/** The places without a description, in this schema and below it. */
function findUndescribed(schema: Node, path: string, isNamed = true): string[] {
  if ('$ref' in schema) return [];
  const parts = [schema.allOf, schema.oneOf].flatMap((list) => (list ?? []) as Node[]);
  return [
    ...(isNamed && schema.description === undefined ? [path] : []),
    ...Object.entries((schema.properties ?? {}) as Record<string, Node>).flatMap(([name, property]) =>
      findUndescribed(property, `${path}.${name}`),
    ),
    ...(schema.items === undefined ? [] : findUndescribed(schema.items as Node, `${path}[]`, false)),
    ...(typeof schema.additionalProperties === 'object'
      ? findUndescribed(schema.additionalProperties as Node, `${path}{}`, false)
      : []),
    ...parts.flatMap((part) => findUndescribed(part, path, false)),
  ];
}

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
