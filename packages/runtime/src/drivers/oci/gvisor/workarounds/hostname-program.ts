/**
 * Program: gVisor
 * Does: Makes a program of some bytes, in machine code of x86-64 or arm64, that sets the hostname of a sandbox.
 * Why not the promised way: After a restore only a process inside can set the hostname of the sentry, which has no
 * command for it; programs of the sandbox's own may be missing or replaced.
 * Source: elf(5), sethostname(2), and `runsc exec`: https://gvisor.dev/docs/user_guide/
 * When it no longer fits: Numbers of system calls do not change. On another architecture copies with memory are refused
 * as `unsupported`.
 * Test: hostname-program.driver.test.ts
 */
import { arch } from 'node:os';
import { RuntimeError } from '../../../../error.ts';

/**
 * A program for Linux that sets this host name and exits with 0 or the error number: an ELF file that needs nothing of
 * its file system, for a sentry, in which only its own processes can set the name. `hostname` is ASCII, of at most 64
 * bytes (sethostname(2)).
 * @throws RuntimeError `unsupported` for another architecture of Node's
 */
export const toHostnameProgram = (hostname: string, architecture: string = arch()): Buffer => {
  const machine = machines[architecture];
  if (machine === undefined)
    throw new RuntimeError('unsupported', `no program is available for ${architecture}`);
  const name = Buffer.from(hostname, 'ascii');
  const body = Buffer.concat([machine.toCode(name.length), name]);
  return Buffer.concat([toFileHeader(machine.number), toSegmentHeader(body.length), body]);
};

interface Machine {
  /** elf(5): e_machine. */
  number: number;
  /** Calls sethostname(2) with the name behind it, and exit_group(2). */
  toCode(nameLength: number): Buffer;
}

const machines: Partial<Record<string, Machine>> = {
  x64: {
    number: 62,
    toCode: (nameLength) =>
      Buffer.from([
        // lea rdi, [rip + 23]; mov esi, nameLength; mov eax, 170; syscall
        ...[0x48, 0x8d, 0x3d, 23, 0, 0, 0, 0xbe, nameLength, 0, 0, 0, 0xb8, 170, 0, 0, 0, 0x0f, 0x05],
        // neg eax; mov edi, eax; mov eax, 231; syscall
        ...[0xf7, 0xd8, 0x89, 0xc7, 0xb8, 231, 0, 0, 0, 0x0f, 0x05],
      ]),
  },
  arm64: {
    number: 183,
    toCode: (nameLength) =>
      toWords([
        // adr x0, . + 28; movz x1, nameLength; movz x8, 161; svc 0
        ...[0x1000_00e0, 0xd280_0001 + nameLength * 32, 0xd280_0008 + 161 * 32, 0xd400_0001],
        // neg x0, x0; movz x8, 94; svc 0
        ...[0xcb00_03e0, 0xd280_0008 + 94 * 32, 0xd400_0001],
      ]),
  },
};

const toWords = (words: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) bytes.writeUInt32LE(word, index * 4);
  return bytes;
};

const LOAD_ADDRESS = 0x40_0000;
const FILE_HEADER_BYTES = 64;
const SEGMENT_HEADER_BYTES = 56;
const HEADERS_BYTES = FILE_HEADER_BYTES + SEGMENT_HEADER_BYTES;

/** elf(5): Elf64_Ehdr of an executable with one segment and no sections. */
const toFileHeader = (machine: number): Buffer => {
  const header = Buffer.alloc(FILE_HEADER_BYTES);
  // 64 bits, little-endian, version 1.
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(machine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(LOAD_ADDRESS + HEADERS_BYTES), 24);
  header.writeBigUInt64LE(BigInt(FILE_HEADER_BYTES), 32);
  header.writeUInt16LE(FILE_HEADER_BYTES, 52);
  header.writeUInt16LE(SEGMENT_HEADER_BYTES, 54);
  header.writeUInt16LE(1, 56);
  return header;
};

/** elf(5): Elf64_Phdr of all of the file, to be read and executed. */
const toSegmentHeader = (bodyBytes: number): Buffer => {
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
  const [loads, isReadAndRun, pageBytes] = [1, 5, 0x1_0000];
  header.writeUInt32LE(loads, 0);
  header.writeUInt32LE(isReadAndRun, 4);
  for (const at of [16, 24]) header.writeBigUInt64LE(BigInt(LOAD_ADDRESS), at);
  for (const at of [32, 40]) header.writeBigUInt64LE(BigInt(HEADERS_BYTES + bodyBytes), at);
  header.writeBigUInt64LE(BigInt(pageBytes), 48);
  return header;
};
