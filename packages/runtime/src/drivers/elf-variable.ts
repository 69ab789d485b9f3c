import { type FileHandle, open } from 'node:fs/promises';

/** elf(5): Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr and Elf64_Sym, of which only these fields matter here. */
const elfHeaderSize = 64;
const symbolSize = 24;
const loadType = 1;
const symbolTableType = 2;

export interface VariableOptions {
  /** As in the symbol table, so mangled for C++. */
  symbol: string;
  /** What the variable, an `int`, starts with in this program. */
  from: number;
  to: number;
}

/**
 * Makes a global `int` of a 64-bit little-endian ELF program start with another value, in place and with everything else
 * unchanged. Resolves with false, and changes nothing, when the program has no such symbol (it may be stripped) or the
 * variable starts with something else than `from`.
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
  // With the zeros around it, so that it is not found inside of a longer name.
  const found = text.indexOf(`\0${symbol}\0`, 0, 'latin1');
  if (found === -1) return undefined;
  const symbols = await readSection(file, table);
  for (let at = 0; at + symbolSize <= symbols.length; at += symbolSize) {
    if (symbols.readUInt32LE(at) === found + 1) return symbols.readBigUInt64LE(at + 8);
  }
  return undefined;
}

/** Undefined for an address that the file has no bytes for. */
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
