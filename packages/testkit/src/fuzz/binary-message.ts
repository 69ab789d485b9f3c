import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { damaged } from './damage.ts';
import { type ScalarValue, scalarOf } from './field-values.ts';
import { text } from './texts.ts';

type Write = (writer: BinaryWriter) => void;

const writeScalar = (writer: BinaryWriter, number: number, scalar: ScalarType, value: ScalarValue): void => {
  if (typeof value === 'string') writer.tag(number, WireType.LengthDelimited).string(value);
  else if (value instanceof Uint8Array) writer.tag(number, WireType.LengthDelimited).bytes(value);
  else if (typeof value === 'boolean') writer.tag(number, WireType.Varint).bool(value);
  else if (scalar === ScalarType.SINT32) writer.tag(number, WireType.Varint).sint32(value | 0);
  else writer.tag(number, WireType.Varint).uint32(value);
};

const finish = (writes: readonly Write[]): Uint8Array => {
  const writer = new BinaryWriter();
  for (const write of writes) write(writer);
  return writer.finish();
};

const rightOf = (field: DescField, depth: number): fc.Arbitrary<Write> => {
  const { number } = field;
  switch (field.fieldKind) {
    case 'message':
      return binaryOf(field.message, depth + 1).map(
        (bytes): Write =>
          (writer) =>
            void writer.tag(number, WireType.LengthDelimited).bytes(bytes),
      );
    case 'enum':
      return fc.constantFrom(0, 1, 9, 15, 77, -1).map(
        (value): Write =>
          (writer) =>
            void writer.tag(number, WireType.Varint).int32(value),
      );
    case 'map':
      return fc.tuple(text, text).map(
        ([key, value]): Write =>
          (writer) =>
            void writer
              .tag(number, WireType.LengthDelimited)
              .fork()
              .tag(1, WireType.LengthDelimited)
              .string(key)
              .tag(2, WireType.LengthDelimited)
              .string(value)
              .join(),
      );
    case 'list':
    case 'scalar': {
      const scalar = field.scalar ?? ScalarType.STRING;
      return scalarOf(field, scalar).map(
        (value): Write =>
          (writer) =>
            writeScalar(writer, number, scalar, value),
      );
    }
  }
};

/** A field that the schema does not have, or has with another wire type, or whose length lies. */
const wrong: fc.Arbitrary<Write> = fc
  .tuple(
    fc.constantFrom(0, 1, 2, 3, 4, 15, 16, 2 ** 20, 2 ** 29 - 1),
    fc.nat({ max: 7 }),
    fc.uint8Array({ maxLength: 12 }),
  )
  .map(
    ([number, wireType, bytes]): Write =>
      (writer) =>
        void writer.uint32(((number << 3) | wireType) >>> 0).raw(bytes),
  );

/** The binary form of a message: most fields right, some wrong, missing, twice or members of a oneof side by side. */
const binaryOf = (message: DescMessage, depth = 0): fc.Arbitrary<Uint8Array> => {
  if (depth > 4) return fc.constant(new Uint8Array());
  const few = message.oneofs.length > 0 ? 1 : 4;
  const perField = message.fields.map((field) =>
    fc.oneof(
      { weight: few, arbitrary: rightOf(field, depth).map((write) => [write]) },
      { weight: 1, arbitrary: fc.constant<Write[]>([]) },
      { weight: 1, arbitrary: fc.array(rightOf(field, depth), { minLength: 2, maxLength: 3 }) },
    ),
  );
  const strays = fc.oneof(
    { weight: 9, arbitrary: fc.constant<Write[]>([]) },
    { weight: 1, arbitrary: fc.array(wrong, { minLength: 1, maxLength: 3 }) },
  );
  return fc
    .tuple(fc.tuple(...perField), strays)
    .map(([fields, others]) => finish([...fields.flat(), ...others]));
};

/** The bytes of a message in binary, one in ten of them cut off or with bytes exchanged, some mere noise. */
export const binaryBytesOf = (message: DescMessage): fc.Arbitrary<Uint8Array> =>
  fc.oneof(
    { weight: 20, arbitrary: binaryOf(message) },
    { weight: 2, arbitrary: damaged(binaryOf(message)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
  );
