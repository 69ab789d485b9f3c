import operations from '@skerry/contract/operations.json' with { type: 'json' };
import fc from 'fast-check';
import { damaged } from '../damage.ts';
import { cuts, type FuzzRequest, framing, toRequest } from '../request.ts';
import { text, toLatin1 } from '../texts.ts';

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: Schema;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { content?: Record<string, { schema: Schema }> };
  responses?: unknown;
}
const wrong: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e300, '', 'x', [], {}, [[]], { a: null }),
  fc.jsonValue({ maxDepth: 2 }),
  text,
);

const rightOf = (schema: Schema, name: string, depth: number): fc.Arbitrary<unknown> => {
  const { type, enum: values, properties, items, oneOf, anyOf, allOf, additionalProperties } = schema;
  const choices = oneOf ?? anyOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => mostly(choice, name, depth)));
  if (allOf !== undefined) {
    return fc
      .tuple(...allOf.map((each) => rightOf(each, name, depth)))
      .map((parts) => Object.assign({}, ...parts));
  }
  if (values !== undefined) return fc.constantFrom(...values);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object': {
      if (depth > 3) return fc.constant({});
      const fields = Object.entries(properties ?? {}).map(
        ([key, each]) => [key, mostly(each, key, depth + 1)] as const,
      );
      const known = fc.record(Object.fromEntries(fields), { requiredKeys: [] });
      if (typeof additionalProperties !== 'object') return known;
      return fc.dictionary(text, mostly(additionalProperties, name, depth + 1), { maxKeys: 3 });
    }
    case 'array':
      return fc.array(mostly(items ?? {}, name, depth + 1), { maxLength: 3 });
    case 'integer':
    case 'number':
      return fc.oneof(fc.nat({ max: 100 }), fc.constantFrom(-1, 2 ** 31, 2 ** 53, 1.5), fc.integer());
    case 'boolean':
      return fc.boolean();
    default:
      // Few starts succeed: they are slow, and what they bring is looked at elsewhere.
      return name === 'templateID' ? fc.constantFrom('base', 'base:x', 'none', ':', 'a/b') : text;
  }
};

const mostly = (schema: Schema, name: string, depth = 0): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 7, arbitrary: rightOf(schema, name, depth) }, { weight: 1, arbitrary: wrong });

const encodeOnce = (value: unknown): string =>
  encodeURIComponent((typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toWellFormed());

const queryValue = (parameter: Parameter): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: rightOf(parameter.schema, parameter.name, 0).map(encodeOnce) },
    { weight: 2, arbitrary: text.map(encodeOnce) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('a=b', 'a%3Db', 'a%253Db%2526c', '%', '%ff', 'running,paused', '', '%00'),
    },
  );

const pathValue: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'inosuchsandbox0000000',
      'base',
      'UPPER',
      '..',
      '%2e%2e',
      '%',
      '%ff',
      'a%2Fb:c',
      '',
    ),
  },
  { weight: 1, arbitrary: text.map(encodeOnce) },
);

const body = (operation: Operation): fc.Arbitrary<Uint8Array> => {
  const schema = operation.requestBody?.content?.['application/json']?.schema;
  if (schema === undefined) return fc.constant(new Uint8Array());
  const right = mostly(schema, '').map((value) => Buffer.from(JSON.stringify(value) ?? '') as Uint8Array);
  return fc.oneof({ weight: 8, arbitrary: right }, { weight: 1, arbitrary: damaged(right) });
};

const requestOf = (
  route: string,
  method: string,
  shared: Parameter[],
  operation: Operation,
): fc.Arbitrary<FuzzRequest> => {
  const parameters = [...shared, ...(operation.parameters ?? [])];
  const queries = parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) =>
      fc
        .array(queryValue(parameter), { maxLength: 2 })
        .map((all) => all.map((value) => `${parameter.name}=${value}`)),
    );
  const types = fc.constantFrom(
    'application/json',
    'application/json',
    'application/json',
    'text/plain',
    'application/json; charset=latin1',
    '',
  );
  const keys = fc.constantFrom('{key}', '{key}', '{key}', '{key}', '{key}', 'x', `e2b_${'0'.repeat(40)}`);
  const slots = (route.match(/\{\w+\}/g) ?? []).map(() => pathValue);
  return fc
    .tuple(fc.tuple(...slots), fc.tuple(...queries), body(operation), types, keys, framing, cuts)
    .map(([values, pairs, content, type, key, told, where]) => {
      const filled = [...values];
      const query = pairs.flat().join('&');
      return toRequest({
        rule: 'platform',
        method: method.toUpperCase(),
        target: toLatin1(
          `${route.replace(/\{\w+\}/g, () => filled.shift() ?? '')}${query === '' ? '' : `?${query}`}`,
        ),
        headers: [
          ['Host', '{domain}'],
          ['X-API-Key', key],
          ...(content.length === 0 ? [] : [['Content-Type', type] as const]),
        ],
        body: content,
        framing: content.length === 0 ? 'length' : told,
        cuts: where,
      });
    });
};

const requests = Object.entries(operations.paths as Record<string, Record<string, unknown>>).flatMap(
  ([route, item]) => {
    // Those with servers of their own belong to the agent.
    if (item.servers !== undefined) return [];
    const shared = (item.parameters ?? []) as Parameter[];
    return Object.entries(item).flatMap(([method, operation]) =>
      ['get', 'post', 'put', 'patch', 'delete'].includes(method)
        ? [requestOf(route, method, shared, operation as Operation)]
        : [],
    );
  },
);

/** Every operation of the platform's document with parameters and a body that are mostly what it wants. */
export const platformCalls: fc.Arbitrary<FuzzRequest> = fc.oneof(...requests);
