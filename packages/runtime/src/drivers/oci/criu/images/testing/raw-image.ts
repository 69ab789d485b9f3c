import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A field that holds a number. */
export const toField = (number: number, value: number | bigint): Uint8Array =>
  new BinaryWriter().tag(number, WireType.Varint).uint64(value).finish();

/** A field that holds a message of these fields. */
export const toMessage = (number: number, ...fields: Uint8Array[]): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(Buffer.concat(fields)).finish();

/** A message of an image. */
export const toEntry = (...fields: Uint8Array[]): Uint8Array => {
  const content = Buffer.concat(fields);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(content.length);
  return Buffer.concat([size, content]);
};

type Tree = [number: number, type: WireType, value: Tree | string][];

/** Which fields of a message hold messages. */
interface Shape {
  [number: number]: Shape;
}

const fileShape: Shape = { 3: {}, 4: {}, 13: { 5: { 7: {} } } };

/** What is in the bytes of `files.img`, whatever the order of the fields of different numbers. */
export const toTrees = (image: Buffer): Tree[] => {
  const trees: Tree[] = [];
  for (let at = 8; at < image.length; ) {
    const start = at + 4;
    at = start + image.readUInt32LE(at);
    trees.push(toTree(image.subarray(start, at), fileShape));
  }
  return trees;
};

const toTree = (bytes: Uint8Array, shape: Shape): Tree => {
  const reader = new BinaryReader(bytes);
  const tree: Tree = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const inner = shape[number];
    const value =
      inner === undefined
        ? Buffer.from(reader.skip(type, number)).toString('hex')
        : toTree(reader.bytes(), inner);
    tree.push([number, type, value]);
  }
  return tree.toSorted(([one], [other]) => one - other);
};
