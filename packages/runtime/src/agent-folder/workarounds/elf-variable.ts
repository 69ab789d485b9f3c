/**
 * Program: Node.js
 * Does: Changes the value that a variable of Node starts with in the copy that runs the agent: Abseil looks for no
 * deadlocks then.
 * Why not the promised way: Node's releases contain Abseil built for debugging, which keeps a table of 1 MiB in each
 * process. It has no option or variable of the environment for that.
 * Source: https://github.com/abseil/abseil-cpp/blob/master/absl/synchronization/mutex.cc (`synch_deadlock_detection`)
 * When it no longer fits: Nothing is changed where the program has no such symbol or the variable another value.
 * Test: elf-variable.test.ts
 * Bench row: memory.idle, density.per-gib
 */
import { type FileHandle, open } from 'node:fs/promises';

/** elf(5): Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr and Elf64_Sym, of which only these fields are needed here. */
const elfHeaderSize = 64;
const symbolSize = 24;
const loadType = 1;
const symbolTableType = 2;

export interface VariableOptions {
  /** The name in the symbol table, so mangled for C++. */
  symbol: string;
  /** The start value of the variable, an `int`, in this program. */
  from: number;
  to: number;
}

/**
 * Changes the start value of a global `int` in a 64-bit little-endian ELF program, in place and with everything else
 * unchanged. Resolves with false, and changes nothing, when the program has no such symbol (it may be stripped) or the
 * variable starts with another value than `from`.
 */
export async function replaceVariable(path: string, options: VariableOptions): Promise<boolean> {
  await using file = await open(path, 'r+');
  const header = await readAt(file, 0, elfHeaderSize);
  const address = await findSymbol(file, header, options.symbol);
  const offset = address === undefined ? undefined : await toFileOffset(file, header, address);
  if (offset === undefined) return false;
  const value = await readAt(file, offset, 4);
  if (value.length < 4 || value.readInt32LE() !== options.from) return false;
  value.writeInt32LE(options.to);
  await file.write(value, 0, 4, offset);
  return true;
}

async function findSymbol(file: FileHandle, header: Buffer, symbol: string): Promise<bigint | undefined> {
  const sections = await readTable(file, {
    offset: header.readBigUInt64LE(40),
    entrySize: header.readUInt16LE(58),
    count: header.readUInt16LE(60),
  });
  const table = sections.find((section) => section.readUInt32LE(4) === symbolTableType);
  const names = table && sections[table.readUInt32LE(40)];
  if (table === undefined || names === undefined) return undefined;
  const text = await readSection(file, names);
  // Include the NULs around the name, so that it does not match inside of a longer one.
  const found = text.indexOf(`\0${symbol}\0`, 0, 'latin1');
  if (found === -1) return undefined;
  const symbols = await readSection(file, table);
  for (let at = 0; at + symbolSize <= symbols.length; at += symbolSize) {
    if (symbols.readUInt32LE(at) === found + 1) return symbols.readBigUInt64LE(at + 8);
  }
  return undefined;
}

/** Undefined for an address for which the file has no bytes. */
async function toFileOffset(file: FileHandle, header: Buffer, address: bigint): Promise<number | undefined> {
  const segments = await readTable(file, {
    offset: header.readBigUInt64LE(32),
    entrySize: header.readUInt16LE(54),
    count: header.readUInt16LE(56),
  });
  for (const segment of segments) {
    const distance = address - segment.readBigUInt64LE(16);
    if (segment.readUInt32LE(0) === loadType && distance >= 0n && distance < segment.readBigUInt64LE(32))
      return Number(segment.readBigUInt64LE(8) + distance);
  }
  return undefined;
}

async function readTable(
  file: FileHandle,
  { offset, entrySize, count }: { offset: bigint; entrySize: number; count: number },
): Promise<Buffer[]> {
  const table = await readAt(file, Number(offset), entrySize * count);
  return Array.from({ length: Math.floor(table.length / entrySize) }, (_, index) =>
    table.subarray(index * entrySize, (index + 1) * entrySize),
  );
}

const readSection = (file: FileHandle, section: Buffer): Promise<Buffer> =>
  readAt(file, Number(section.readBigUInt64LE(24)), Number(section.readBigUInt64LE(32)));

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
