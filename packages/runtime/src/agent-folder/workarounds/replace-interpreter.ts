/**
 * Program: Node.js
 * Does: Writes the path of another dynamic loader into the copy of Node that runs the agent.
 * Why not the promised way: The loader lies at another path inside a sandbox, whose own may be of another C library.
 * Started as `ld.so node`, the process is the loader: `process.execPath`, by which Node finds itself, is wrong then.
 * Source: elf(5), PT_INTERP; ld.so(8)
 * When it no longer fits: A program that names no loader, or a shorter path, is refused as `unsupported` before any
 * sandbox is made.
 * Test: ../elf.test.ts
 */
import { open } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { findInterpreter } from '../elf.ts';

/**
 * Replaces the dynamic loader of a program, in place and with everything else unchanged. The new path must not be
 * longer than the old one; rejects with `unsupported` when it is, or when the program names no loader.
 */
export async function replaceInterpreter(path: string, interpreter: string): Promise<void> {
  await using file = await open(path, 'r+');
  const found = await findInterpreter(file, path);
  const length = Buffer.byteLength(interpreter);
  // The kernel requires the last byte of the segment to be NUL, not the first one after the path.
  if (found === undefined || length >= found.size) {
    throw new RuntimeError('unsupported', `${path} has no room for the loader ${interpreter}`);
  }
  const bytes = Buffer.alloc(found.size);
  bytes.write(interpreter);
  await file.write(bytes, 0, bytes.length, found.offset);
}
