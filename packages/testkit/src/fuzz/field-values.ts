import { type DescField, ScalarType } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { path, readPath, text } from './texts.ts';

/** What one field of a message holds, before it is written as JSON or in binary. */
export type ScalarValue = string | number | boolean | Uint8Array;

const program: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('/bin/true', 'true', '/bin/cat', '/bin/sh', '/no/such', '/tmp', '/dev/null'),
  },
  { weight: 1, arbitrary: text },
);

const TEXTS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  cmd: program,
  args: text,
  cwd: readPath,
  source: path,
  destination: path,
  watcher_id: fc.oneof(fc.constantFrom(`w${'a'.repeat(20)}`, 'w'), text),
};

/** Messages whose path only points at something. */
const READING: ReadonlySet<string> = new Set([
  'filesystem.StatRequest',
  'filesystem.ListDirRequest',
  'filesystem.WatchDirRequest',
  'filesystem.CreateWatcherRequest',
]);

const textOf = ({ name, parent }: DescField): fc.Arbitrary<string> => {
  if (name === 'path') return READING.has(parent.typeName) ? readPath : path;
  return TEXTS[name] ?? text;
};

const unsigned: fc.Arbitrary<number> = fc.oneof(
  fc.nat({ max: 5 }),
  fc.constantFrom(2 ** 15 - 1, 2 ** 16, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
);

/** Values of the right type for a field, and of the kind that its name asks for. */
export const scalarOf = (field: DescField, scalar: ScalarType): fc.Arbitrary<ScalarValue> => {
  switch (scalar) {
    case ScalarType.STRING:
      return textOf(field);
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 40 });
    case ScalarType.BOOL:
      return fc.boolean();
    default:
      return field.name === 'depth' ? fc.oneof(fc.nat({ max: 3 }), unsigned) : unsigned;
  }
};
