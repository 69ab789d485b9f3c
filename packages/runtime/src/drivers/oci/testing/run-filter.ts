import { arch } from 'node:os';

/** What a seccomp program decides on: struct seccomp_data. */
export interface SeccompData {
  number: number;
  /** Six at most; those left out are 0. */
  args?: readonly (number | bigint)[];
  /** AUDIT_ARCH_*; that of this machine when left out. */
  arch?: number;
}

/** What the kernel does with a call: runs it, or answers it with an error. */
export type Verdict = 'allowed' | { errno: number };

// linux/audit.h
export const AUDIT_ARCH_I386 = 0x40000003;
const nativeArch = arch() === 'arm64' ? 0xc00000b7 : 0xc000003e;

// linux/bpf_common.h
const [LD_ABS, JMP_JA, JEQ, JGT, JGE, JSET] = [0x20, 0x05, 0x15, 0x25, 0x35, 0x45];
const [RET_K, ALU_AND_K] = [0x06, 0x54];
const INSTRUCTION_BYTES = 8;

// linux/seccomp.h
const RET_ALLOW = 0x7fff0000;
const RET_ERRNO = 0x00050000;

/**
 * Runs a compiled filter on one call, as the kernel does. Throws on an instruction that filters of libseccomp do not
 * have.
 */
export const runFilter = (
  program: Buffer,
  { number, args = [], arch = nativeArch }: SeccompData,
): Verdict => {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(arch >>> 0, 4);
  for (const [index, value] of args.entries()) {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  }
  let accumulator = 0;
  for (let at = 0; ; at += 1) {
    const offset = at * INSTRUCTION_BYTES;
    const code = program.readUInt16LE(offset);
    const ifTrue = program.readUInt8(offset + 2);
    const ifFalse = program.readUInt8(offset + 3);
    const operand = program.readUInt32LE(offset + 4);
    const jump = (isTrue: boolean): void => {
      at += isTrue ? ifTrue : ifFalse;
    };
    if (code === LD_ABS) accumulator = data.readUInt32LE(operand);
    else if (code === ALU_AND_K) accumulator = (accumulator & operand) >>> 0;
    else if (code === JMP_JA) at += operand;
    else if (code === JEQ) jump(accumulator === operand);
    else if (code === JGT) jump(accumulator > operand);
    else if (code === JGE) jump(accumulator >= operand);
    else if (code === JSET) jump((accumulator & operand) !== 0);
    else if (code === RET_K) return toVerdict(operand);
    else throw new Error(`the filter has an instruction of code 0x${code.toString(16)}`);
  }
};

const toVerdict = (value: number): Verdict => {
  if (value === RET_ALLOW) return 'allowed';
  if ((value & 0xffff0000) === RET_ERRNO) return { errno: value & 0xffff };
  throw new Error(`the filter returns 0x${value.toString(16)}`);
};
