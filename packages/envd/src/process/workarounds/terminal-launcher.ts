/**
 * Program: Linux
 * Does: Writes a small program, in machine code of x86-64 or arm64, to a file in memory. Between fork and the user's program
 * it makes the terminal on standard input control the session.
 * Why not the promised way: Node starts no program in between fork and exec, and its sandbox may lack `setsid --ctty`.
 * Libraries that fork on their own start a thread for it, and end the whole agent when the sandbox has no room for one.
 * Source: elf(5), syscall(2), ioctl_tty(2); https://github.com/torvalds/linux/blob/v6.12/arch/x86/entry/syscalls/syscall_64.tbl
 * When it no longer fits: Numbers of system calls do not change. On another architecture `launcherPath` throws, and no terminal is started.
 * Test: ../terminal.test.ts
 */
import { writeSync } from 'node:fs';
import { createErrnoError, lib } from '../../system/libc.ts';

const cMemfdCreate = lib.func('int memfd_create(const char *name, unsigned int flags)');
const MFD_CLOEXEC = 1;

const LOAD_ADDRESS = 0x400000;
const HEADERS_BYTES = 64 + 56;

/**
 * The two system calls that a session leader has to make itself between its fork and its program, as machine code:
 *
 *     ioctl(0, TIOCSCTTY, 0);
 *     execve(argv[1], &argv[2], envp);
 *     exit(126);
 *
 * At the start of a program the stack holds argc, argv with its null, and envp.
 */
const PROGRAMS: Readonly<Record<string, { machine: number; code: Buffer }>> = {
  x64: {
    machine: 62,
    code: Buffer.from(
      [
        '31ff', // xor edi, edi
        'be0e540000', // mov esi, TIOCSCTTY
        '31d2', // xor edx, edx
        'b810000000', // mov eax, SYS_ioctl
        '0f05', // syscall
        '488b7c2410', // mov rdi, [rsp + 16]
        '488d742418', // lea rsi, [rsp + 24]
        '488b0c24', // mov rcx, [rsp]
        '488d54cc10', // lea rdx, [rsp + 8 * rcx + 16]
        'b83b000000', // mov eax, SYS_execve
        '0f05', // syscall
        'bf7e000000', // mov edi, 126
        'b83c000000', // mov eax, SYS_exit
        '0f05', // syscall
      ].join(''),
      'hex',
    ),
  },
  arm64: {
    machine: 183,
    code: Buffer.from(
      [
        '000080d2', // movz x0, 0
        'c1818ad2', // movz x1, TIOCSCTTY
        '020080d2', // movz x2, 0
        'a80380d2', // movz x8, SYS_ioctl
        '010000d4', // svc 0
        'e00b40f9', // ldr x0, [sp, 16]
        'e1630091', // add x1, sp, 24
        'e20340f9', // ldr x2, [sp]
        'e26f228b', // add x2, sp, x2, lsl 3
        '42400091', // add x2, x2, 16
        'a81b80d2', // movz x8, SYS_execve
        '010000d4', // svc 0
        'c00f80d2', // movz x0, 126
        'a80b80d2', // movz x8, SYS_exit
        '010000d4', // svc 0
      ].join(''),
      'hex',
    ),
  },
};

/** An executable with one segment (elf(5)). */
const toElf = ({ machine, code }: { machine: number; code: Buffer }): Buffer => {
  const headers = Buffer.alloc(HEADERS_BYTES);
  headers.write('\x7fELF', 'latin1');
  headers.set([2, 1, 1], 4); // 64 bits, little-endian, version 1
  headers.writeUInt16LE(2, 16); // ET_EXEC
  headers.writeUInt16LE(machine, 18);
  headers.writeUInt32LE(1, 20);
  headers.writeBigUInt64LE(BigInt(LOAD_ADDRESS + HEADERS_BYTES), 24); // e_entry
  headers.writeBigUInt64LE(64n, 32); // e_phoff
  headers.writeUInt16LE(64, 52); // e_ehsize
  headers.writeUInt16LE(56, 54); // e_phentsize
  headers.writeUInt16LE(1, 56); // e_phnum
  headers.writeUInt32LE(1, 64); // PT_LOAD
  headers.writeUInt32LE(5, 68); // readable and executable
  headers.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 80); // p_vaddr
  headers.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 88); // p_paddr
  const sizeBytes = BigInt(HEADERS_BYTES + code.length);
  headers.writeBigUInt64LE(sizeBytes, 96); // p_filesz
  headers.writeBigUInt64LE(sizeBytes, 104); // p_memsz
  headers.writeBigUInt64LE(0x1000n, 112); // p_align
  return Buffer.concat([headers, code]);
};

let fd: number | undefined;

/**
 * Path of a program that makes the terminal on its standard input control its session, and becomes the program that its first
 * argument names, with the arguments after it (which begin with the name it is called by). The caller makes it a session leader.
 *
 * Node cannot do this between fork and exec. What could, libraries that fork on their own, must be able to start a thread then,
 * and end the whole agent when a sandbox has no room for one. The file lies in memory, as the root file system is the sandbox's.
 */
export const launcherPath = (): string => {
  if (fd === undefined) {
    const program = PROGRAMS[process.arch];
    if (program === undefined) throw new Error(`terminals are not implemented on ${process.arch}`);
    const created: number = cMemfdCreate('terminal', MFD_CLOEXEC);
    if (created < 0) throw createErrnoError('memfd_create');
    writeSync(created, toElf(program));
    fd = created;
  }
  return `/proc/self/fd/${fd}`;
};
