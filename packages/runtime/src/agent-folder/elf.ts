import { type FileHandle, open } from 'node:fs/promises';
import { RuntimeError } from '../error.ts';

/** Program header type of the path of the dynamic loader: elf(5), PT_INTERP. */
const interpreterType = 3;
const elfHeaderSize = 64;
const programHeaderSize = 56;

/**
 * The dynamic loader that a 64-bit little-endian ELF program names, or undefined when it is statically linked. Rejects
 * with `unsupported` when the file is not such a program.
 */
export async function readInterpreter(path: string): Promise<string | undefined> {
  await using file = await open(path, 'r');
  return (await findInterpreter(file, path))?.value;
}

/**
 * The position of the loader's path in the program, if it has one. Rejects with `unsupported` when the file is not an
 * ELF program.
 */
export async function findInterpreter(
  file: FileHandle,
  path: string,
): Promise<{ offset: number; size: number; value: string } | undefined> {
  const header = await readAt(file, 0, elfHeaderSize);
  // 0x7f 'ELF', 64 bits, little-endian.
  if (
    header.length < elfHeaderSize ||
    header.readUInt32BE(0) !== 0x7f454c46 ||
    header.readUInt16BE(4) !== 0x0201
  ) {
    throw new RuntimeError('unsupported', `${path} is not a 64-bit ELF program`);
  }
  const tableOffset = Number(header.readBigUInt64LE(32));
  const entrySize = header.readUInt16LE(54);
  const entryCount = header.readUInt16LE(56);
  const table = await readAt(file, tableOffset, entrySize * entryCount);
  for (let at = 0; at + programHeaderSize <= table.length; at += entrySize) {
    if (table.readUInt32LE(at) !== interpreterType) continue;
    const offset = Number(table.readBigUInt64LE(at + 8));
    const size = Number(table.readBigUInt64LE(at + 32));
    const value = await readAt(file, offset, Math.min(size, 4_096));
    return { offset, size, value: value.toString('latin1').replace(/\0.*$/s, '') };
  }
  return undefined;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
