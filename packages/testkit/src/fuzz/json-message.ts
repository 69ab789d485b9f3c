import type { DescField, DescMessage } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { damaged } from './damage.ts';
import { type ScalarValue, scalarOf } from './field-values.ts';
import { text } from './texts.ts';

const nest = (open: string, close: string): fc.Arbitrary<string> =>
  fc.constantFrom(30, 99, 101, 1000, 50_000).map((depth) => open.repeat(depth) + close.repeat(depth));

/** JSON, and what looks like it, for where something else is expected. */
const wrong: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'null',
      'true',
      '0',
      '-1',
      '1.5',
      '1e400',
      '-1e400',
      '9007199254740993',
      '18446744073709551616',
      `1${'0'.repeat(400)}`,
      '"1"',
      '"1.5"',
      '"x"',
      '""',
      '"\\ud800"',
      '"\\u0000"',
      '"\\x"',
      '[]',
      '{}',
      '[{}]',
      '{"__proto__":{"path":"/"}}',
      '{"constructor":{"prototype":{"path":"/"}}}',
      'NaN',
      'Infinity',
      '01',
      '+1',
      "'x'",
      'none',
      '',
      '\xff\xfe',
      '"\xc3\x28"',
      '"\xed\xa0\x80"',
    ),
  },
  { weight: 2, arbitrary: fc.json({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      nest('[', ']'),
      nest('{"a":', '}').map((open) => open.replace(':}', ':0}')),
    ),
  },
);

/** JSON of a text whose characters are the bytes of UTF-8. */
const toJsonText = (value: string): string => Buffer.from(JSON.stringify(value)).toString('latin1');

const toJsonScalar = (value: ScalarValue): string => {
  if (typeof value === 'string') return toJsonText(value);
  return value instanceof Uint8Array ? `"${Buffer.from(value).toString('base64')}"` : String(value);
};

const enumOf = (names: readonly string[], numbers: readonly number[]): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(...names).map((name) => `"${name}"`),
    fc.constantFrom(...numbers).map(String),
  );

const rightOf = (field: DescField, depth: number): fc.Arbitrary<string> => {
  switch (field.fieldKind) {
    case 'message':
      return jsonOf(field.message, depth + 1);
    case 'enum':
      return enumOf(
        field.enum.values.map(({ name }) => name),
        [0, 1, 9, 15, 77, -1],
      );
    case 'map':
      return fc
        .array(
          fc.tuple(
            text,
            fc.oneof({ weight: 8, arbitrary: text.map(toJsonText) }, { weight: 1, arbitrary: wrong }),
          ),
          {
            maxLength: 4,
          },
        )
        .map((entries) => `{${entries.map(([key, value]) => `${toJsonText(key)}:${value}`).join(',')}}`);
    case 'list': {
      const item = field.listKind === 'scalar' ? scalarOf(field, field.scalar).map(toJsonScalar) : wrong;
      return fc
        .array(fc.oneof({ weight: 9, arbitrary: item }, { weight: 1, arbitrary: wrong }), { maxLength: 4 })
        .map((items) => `[${items.join(',')}]`);
    }
    case 'scalar':
      return scalarOf(field, field.scalar).map(toJsonScalar);
  }
};

/** A key and its value: rightly, under either spelling, or not at all as the schema wants it. */
const entryOf = (field: DescField, depth: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(field.jsonName, field.jsonName, field.name),
      fc.oneof({ weight: 9, arbitrary: rightOf(field, depth) }, { weight: 1, arbitrary: wrong }),
    )
    .map(([key, value]) => `"${key}":${value}`);

const stray: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(text, wrong).map(([key, value]) => `${toJsonText(key)}:${value}`),
  fc.constantFrom('"__proto__":{"path":"/etc"}', '"__proto__":null', '"toString":1', '"path"', ':', ','),
);

/**
 * The JSON of a message: most fields right, some wrong, missing, twice, unknown or members of a oneof side by side.
 * Characters are bytes.
 */
export const jsonOf = (message: DescMessage, depth = 0): fc.Arbitrary<string> => {
  if (depth > 4) return fc.constant('{}');
  const perField = message.fields.map((field) => {
    const few = message.oneofs.length > 0 ? 12 : 40;
    return fc.oneof(
      { weight: few, arbitrary: entryOf(field, depth).map((entry) => [entry]) },
      { weight: 10, arbitrary: fc.constant<string[]>([]) },
      { weight: 2, arbitrary: fc.array(entryOf(field, depth), { minLength: 2, maxLength: 2 }) },
    );
  });
  const strays = fc.oneof(
    { weight: 9, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.array(stray, { minLength: 1, maxLength: 3 }) },
  );
  return fc
    .tuple(fc.tuple(...perField), strays)
    .map(([fields, others]) => `{${[...fields.flat(), ...others].join(',')}}`);
};

/** The bytes of a message in JSON, one in ten of them cut off or with bytes exchanged. */
export const jsonBytesOf = (message: DescMessage): fc.Arbitrary<Uint8Array> =>
  fc.oneof(
    { weight: 20, arbitrary: jsonOf(message).map(toBytes) },
    { weight: 2, arbitrary: damaged(jsonOf(message).map(toBytes)) },
    { weight: 1, arbitrary: wrong.map(toBytes) },
  );

const toBytes = (latin1: string): Uint8Array => Buffer.from(latin1, 'latin1');
