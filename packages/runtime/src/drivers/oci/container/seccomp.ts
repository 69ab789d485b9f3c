import { closeSync, fstatSync, readSync } from 'node:fs';
import koffi from '../../../kernel/native.ts';
import { createMemoryFile } from '../../../kernel/syscalls.ts';
import type { SeccompArgument, SeccompProfile, SeccompRule } from './seccomp-rules.ts';

// seccomp.h
const SCMP_ACT_ALLOW = 0x7fff0000;
const SCMP_ACT_ERRNO = 0x00050000;
const SCMP_FLTATR_ACT_BADARCH = 2;
const SCMP_FLTATR_CTL_NNP = 3;
const SCMP_FLTATR_CTL_OPTIMIZE = 8;
const BINARY_TREE = 2;
const NO_SUCH_SYSCALL = -1;
const operators = { SCMP_CMP_EQ: 4, SCMP_CMP_GT: 6, SCMP_CMP_MASKED_EQ: 7 } as const;
const ENOSYS = 38;

/**
 * Compiles the profile for this machine's architecture to the program that the kernel runs; calls of any other
 * architecture (32-bit ones on a 64-bit kernel) get `ENOSYS`. This takes about as long as starting a container, so it
 * is done once and the OCI runtime gets the result. Throws where libseccomp is missing or fails.
 */
export const compileSeccomp = (profile: SeccompProfile): Buffer => {
  const library = koffi.load('libseccomp.so.2');
  const init = library.func('void *seccomp_init(uint32_t)');
  const setAttribute = library.func('int seccomp_attr_set(void *, int, uint32_t)');
  const resolve = library.func('int seccomp_syscall_resolve_name(const char *)');
  const addRule = library.func('seccomp_rule_add_array', 'int', [
    'void *',
    'uint32_t',
    'int',
    'unsigned int',
    'void *',
  ]);
  const exportProgram = library.func('int seccomp_export_bpf(void *, int)');
  const release = library.func('void seccomp_release(void *)');

  const checked = (step: string, result: number): void => {
    if (result < 0) throw new Error(`libseccomp: ${step} failed with ${result}`);
  };

  const context = init(toAction(profile.defaultAction, profile.defaultErrnoRet));
  if (!context) throw new Error('libseccomp: seccomp_init failed');
  try {
    checked('badarch', setAttribute(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO | ENOSYS));
    checked('nnp', setAttribute(context, SCMP_FLTATR_CTL_NNP, 0));
    checked('optimize', setAttribute(context, SCMP_FLTATR_CTL_OPTIMIZE, BINARY_TREE));
    for (const rule of profile.syscalls) {
      const args = rule.args ?? [];
      for (const name of rule.names) {
        const number = resolve(name);
        // Negative numbers, too, are calls that this architecture does not have.
        if (number <= NO_SUCH_SYSCALL) continue;
        const action = toAction(rule.action, rule.errnoRet);
        checked(name, addRule(context, action, number, args.length, encodeArguments(args)));
      }
    }
    return readProgram((fd) => checked('export', exportProgram(context, fd)));
  } finally {
    release(context);
  }
};

const toAction = (action: SeccompRule['action'], errno = 0): number =>
  action === 'SCMP_ACT_ALLOW' ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO | errno;

/** struct scmp_arg_cmp: unsigned index, enum operator, two 64-bit values. */
const encodeArguments = (args: SeccompArgument[]): Buffer => {
  const size = 24;
  const bytes = Buffer.alloc(args.length * size);
  for (const [position, { index, op, value, valueTwo }] of args.entries()) {
    bytes.writeUInt32LE(index, position * size);
    bytes.writeUInt32LE(operators[op], position * size + 4);
    bytes.writeBigUInt64LE(BigInt(value), position * size + 8);
    bytes.writeBigUInt64LE(BigInt(valueTwo ?? 0), position * size + 16);
  }
  return bytes;
};

const readProgram = (write: (fd: number) => void): Buffer => {
  const fd = createMemoryFile('seccomp');
  try {
    write(fd);
    const program = Buffer.alloc(fstatSync(fd).size);
    readSync(fd, program, 0, program.length, 0);
    return program;
  } finally {
    closeSync(fd);
  }
};
