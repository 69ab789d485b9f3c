/**
 * Program: gVisor
 * Does: Clears the event mask of each interest that no epoll instance has any more, in the state that the sentry has
 * written. An interest without events is never reported.
 * Why not the promised way: runsc writes all that it reaches, and an interest can lead to one that was removed. A restore
 * marks both as ready, so `epoll_wait` reports a descriptor that the program has closed, with the data that the program
 * gave for it. Programs where that is a pointer to freed memory crash, as every Jupyter kernel; others loop.
 * Source: `ReadEvents` in pkg/sentry/vfs/epoll.go, `afterLoad` in pkg/sentry/vfs/save_restore.go, pkg/state/wire/wire.go
 * and pkg/compressio/nocompressio.go of gVisor. Later releases clear the mask of what is removed.
 * When it no longer fits: A state of another form is left as it is.
 * Test: forget-interests.driver.test.ts, and notebook-kernel.long.test.ts of testkit with a kernel of Jupyter.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';

/** Resolves with the number of interests that it cleared in the file, the `checkpoint.img` of runsc. */
export const forgetInterests = async (path: string): Promise<number> => {
  const file = openSync(path, 'r+');
  try {
    const removed = await findRemoved(file);
    for (const offsets of removed) {
      // A zero of as many bytes as the mask has: all but the last say that another follows.
      for (const [index, offset] of offsets.entries())
        writeSync(file, index < offsets.length - 1 ? MORE : ZERO, 0, 1, offset);
    }
    return removed.length;
  } catch (error) {
    if (error instanceof RangeError) return 0;
    throw error;
  } finally {
    closeSync(file);
  }
};

const [ZERO, MORE] = [Buffer.from([0]), Buffer.from([0x80])];

const INTEREST = 'pkg/sentry/vfs.epollInterest';
const INTEREST_KEY = 'pkg/sentry/vfs.epollInterestKey';

const ITEMS_AT_ONCE = 256;

/** What an item of the stream is, the first number of it. */
const kinds = { uint: 2, array: 9, map: 10, struct: 11, objects: 13, type: 17 } as const;

/**
 * Where the bytes of the masks are in the file, of each interest that no epoll instance has. Rejects with a RangeError
 * where the stream is of another form or ends early, or is nested too deeply.
 */
const findRemoved = async (file: number): Promise<number[][]> => {
  const { number, count, text, skip, offsetsOfNumber, isAtEnd } = openStream(file);
  const yieldOften = createYielder();
  let types: { name: string; fields: string[] }[] = [];
  let id = 0;
  let masks = new Map<number, number[]>();
  let registered = new Set<number>();

  const readTypeSpec = (): void => {
    const form = number();
    // The size of an array, or the number of a type.
    if (form === 0 || form === 2) number();
    for (let parts = form === 4 ? 2 : form >= 1 && form <= 3 ? 1 : 0; parts > 0; parts--) readTypeSpec();
  };
  const readReference = (): number => {
    const to = number();
    const dots = number();
    for (let dot = 0; dot < dots; dot++) {
      // An index, or the length of a name as a negative number.
      const value = number();
      if (value % 2 === 1) skip((value + 1) / 2);
    }
    if (dots > 0) readTypeSpec();
    return to;
  };
  const readStruct = (): number => {
    const type = number();
    const { name, fields } = types[type - 1] ?? { name: '', fields: [] };
    const kind = number();
    if (name !== INTEREST || kind !== kinds.objects) {
      read(kind);
      return type;
    }
    for (let field = 0, length = number(); field < length; field++) {
      const fieldKind = number();
      if (fields[field] === 'mask' && fieldKind === kinds.uint) masks.set(id, offsetsOfNumber());
      else read(fieldKind);
    }
    return type;
  };
  /** All items of an array or a map have the kinds of the first. */
  const openItems = (kind: number): { length: number; readItem: () => void } => {
    const length = number();
    let first: number | undefined;
    let second: number | undefined;
    const readItem = (): void => {
      first ??= number();
      const key = read(first);
      if (kind === kinds.array) return;
      second ??= number();
      const value = read(second);
      if (first === kinds.struct && types[key - 1]?.name === INTEREST_KEY) registered.add(value);
    };
    return { length, readItem };
  };
  /** Returns what a reference leads to, the type of a struct, and otherwise nothing of use. */
  const read = (kind: number): number => {
    switch (kind) {
      case 0: // bool
      case 1: // int
      case kinds.uint:
      case 3: // float32
      case 4: // float64
        return number();
      case 5: // nil
      case 12: // no objects
        return 0;
      case 6: // reference
        return readReference();
      case 7: // string
        skip(number());
        return 0;
      case 8: // slice
        number();
        number();
        return readReference();
      case kinds.array:
      case kinds.map: {
        const { length, readItem } = openItems(kind);
        for (let item = 0; item < length; item++) readItem();
        return 0;
      }
      case kinds.struct:
        return readStruct();
      case kinds.objects:
        for (let length = number(); length > 0; length--) read(number());
        return 0;
      case 14: // interface
        readTypeSpec();
        return read(number());
      case 15: // complex64
      case 16: // complex128
        number();
        return number();
      default:
        throw new RangeError(`an item of kind ${kind}`);
    }
  };

  const removed: number[][] = [];
  while (!isAtEnd()) {
    const { value: length, isOfObjects } = count();
    if (!isOfObjects) {
      skip(length);
      continue;
    }
    [types, masks, registered] = [[], new Map(), new Set()];
    for (let objects = 0; objects < length; ) {
      const first = number();
      if (first === kinds.type) {
        types.push({ name: text(), fields: Array.from({ length: number() }, text) });
        continue;
      }
      objects++;
      id = number();
      const kind = number();
      if (kind === kinds.array || kind === kinds.map) {
        const { length: size, readItem } = openItems(kind);
        for (let item = 0; item < size; item++) {
          readItem();
          if (item % ITEMS_AT_ONCE === 0) await yieldOften();
        }
      } else {
        read(kind);
        await yieldOften();
      }
    }
    for (const [interest, mask] of masks) if (!registered.has(interest)) removed.push(mask);
  }
  return removed;
};

const BLOCK_BYTES = 256 << 10;
const MAGIC = 'gVisorSF';
const HASH_BYTES = 32;

/** Reads the stream that the records of the file make together. Its functions throw a RangeError at the end. */
const openStream = (file: number) => {
  const block = Buffer.alloc(BLOCK_BYTES);
  /** The offset of the block in the file. */
  let offset = 0;
  let [at, filled, leftOfRecord] = [0, 0, 0];
  const isFileAtEnd = (): boolean => {
    if (at < filled) return false;
    offset += filled;
    filled = readSync(file, block, 0, BLOCK_BYTES, offset);
    at = 0;
    return filled === 0;
  };
  const fileByte = (): number => {
    if (isFileAtEnd()) throw new RangeError('the end of the file');
    return block[at++] as number;
  };
  const fileBytes = (length: number): Buffer => Buffer.from(Array.from({ length }, fileByte));
  /** A record begins with its length. */
  const enterRecord = (): void => {
    while (leftOfRecord === 0)
      leftOfRecord = ((fileByte() * 256 + fileByte()) * 256 + fileByte()) * 256 + fileByte();
  };
  const byte = (): number => {
    enterRecord();
    leftOfRecord--;
    return fileByte();
  };
  const number = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const next = byte();
      value += (next % 128) * scale;
      if (next < 128) return value;
    }
  };

  if (fileBytes(MAGIC.length).toString() !== MAGIC) throw new RangeError('no state of a sentry');
  const { compression } = JSON.parse(fileBytes(Number(fileBytes(8).readBigUInt64BE())).toString());
  if (compression !== 'none') throw new RangeError('a compressed state');
  fileBytes(HASH_BYTES);
  return {
    number,
    /** The bytes, or the objects, that follow. The highest bit distinguishes them. */
    count: (): { value: number; isOfObjects: boolean } => {
      let value = 0;
      for (let scale = 1; scale < 2 ** 63; scale *= 128) {
        const next = byte();
        value += (next % 128) * scale;
        if (next < 128) return { value, isOfObjects: false };
      }
      return { value, isOfObjects: byte() === 1 };
    },
    text: (): string => Buffer.from(Array.from({ length: number() }, byte)).toString(),
    skip: (length: number): void => {
      for (let left = length; left > 0; ) {
        byte();
        left--;
      }
    },
    /** Reads a number. Returns where each of its bytes is in the file. */
    offsetsOfNumber: (): number[] => {
      const offsets: number[] = [];
      for (;;) {
        const next = byte();
        offsets.push(offset + at - 1);
        if (next < 128) return offsets;
      }
    },
    isAtEnd: (): boolean => leftOfRecord === 0 && isFileAtEnd(),
  };
};
