/**
 * Program: Linux
 * Does: Loads an eBPF program, made here instruction by instruction, that decides which devices a version 2 cgroup may
 * use.
 * Why not the promised way: Version 2 has no file for it (`devices.allow` of version 1), and the OCI runtime does it
 * only for cgroups that it makes itself; these are made before it, so that all of a sandbox is in them.
 * Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#device-controller,
 * https://docs.kernel.org/bpf/standardization/instruction-set.html
 * When it no longer fits: The kernel refuses the program and the sandbox is not made; none runs without it.
 * Test: ../unified-cgroup.driver.test.ts
 */
import { closeSync, openSync } from 'node:fs';
import { arch } from 'node:os';
import koffi, { libc } from '../../../../kernel/native.ts';
import { SyscallError } from '../../../../kernel/syscalls.ts';
import { usableDevices } from '../devices.ts';

// linux/bpf.h
const BPF_PROG_LOAD = 5;
const BPF_PROG_ATTACH = 8;
const BPF_PROG_TYPE_CGROUP_DEVICE = 15;
const BPF_CGROUP_DEVICE = 6;
const BPF_DEVCG_ACC_MKNOD = 1;
const BPF_DEVCG_DEV_CHAR = 2;

const SYS_BPF = arch() === 'arm64' ? 280 : 321;

const LoadAttributes = koffi.struct({
  prog_type: 'uint32',
  insn_cnt: 'uint32',
  insns: 'const void *',
  license: 'const char *',
});
const AttachAttributes = koffi.struct({
  target_fd: 'uint32',
  attach_bpf_fd: 'uint32',
  attach_type: 'uint32',
  attach_flags: 'uint32',
});
const nativeLoad = libc.func('syscall', 'long', [
  'long',
  'int',
  koffi.pointer(LoadAttributes),
  'unsigned int',
]);
const nativeAttach = libc.func('syscall', 'long', [
  'long',
  'int',
  koffi.pointer(AttachAttributes),
  'unsigned int',
]);

/**
 * Restricts the members of a version 2 cgroup to the devices that an OCI runtime allows. It is removed with the cgroup.
 * @throws SyscallError
 */
export const allowDevices = (cgroupFolder: string): void => {
  const program = toDeviceProgram();
  const load = {
    prog_type: BPF_PROG_TYPE_CGROUP_DEVICE,
    insn_cnt: program.length / 8,
    insns: program,
    license: 'Apache-2.0',
  };
  const loaded = checked(nativeLoad(SYS_BPF, BPF_PROG_LOAD, load, koffi.sizeof(LoadAttributes)));
  try {
    const group = openSync(cgroupFolder, 'r');
    try {
      const attach = {
        target_fd: group,
        attach_bpf_fd: loaded,
        attach_type: BPF_CGROUP_DEVICE,
        attach_flags: 0,
      };
      checked(nativeAttach(SYS_BPF, BPF_PROG_ATTACH, attach, koffi.sizeof(AttachAttributes)));
    } finally {
      closeSync(group);
    }
  } finally {
    closeSync(loaded);
  }
};

const checked = (result: number): number => {
  if (result < 0) throw new SyscallError('bpf', koffi.errno());
  return result;
};

/**
 * The program that the kernel runs at every open and mknod of a device, with a `bpf_cgroup_dev_ctx`: kind and access in
 * one word, major and minor number. It returns 1 to allow the access.
 */
export const toDeviceProgram = (): Buffer => {
  const [r0, r1, access, major, minor, scratch] = [0, 1, 2, 3, 4, 5] as const;
  const answer = (value: number): Buffer[] => [instruction(MOVE, { to: r0, value }), instruction(EXIT)];
  const yes = answer(1);
  const rules = usableDevices.flatMap(([wantedMajor, wantedMinor]) =>
    wantedMinor === '*'
      ? [instruction(JUMP_UNLESS_EQUAL, { to: major, value: wantedMajor, over: yes.length }), ...yes]
      : [
          instruction(JUMP_UNLESS_EQUAL, { to: major, value: wantedMajor, over: yes.length + 1 }),
          instruction(JUMP_UNLESS_EQUAL, { to: minor, value: wantedMinor, over: yes.length }),
          ...yes,
        ],
  );
  return Buffer.concat([
    ...[access, major, minor].map((to, index) => instruction(LOAD_WORD, { to, from: r1, over: 4 * index })),
    instruction(MOVE_REGISTER, { to: scratch, from: access }),
    instruction(SHIFT_RIGHT, { to: scratch, value: 16 }),
    instruction(JUMP_UNLESS_EQUAL, { to: scratch, value: BPF_DEVCG_ACC_MKNOD, over: yes.length }),
    ...yes,
    instruction(AND, { to: access, value: 0xffff }),
    instruction(JUMP_UNLESS_EQUAL, { to: access, value: BPF_DEVCG_DEV_CHAR, over: rules.length }),
    ...rules,
    ...answer(0),
  ]);
};

// linux/bpf.h, linux/bpf_common.h: of the 64-bit class but for the load.
const LOAD_WORD = 0x61;
const MOVE = 0xb7;
const MOVE_REGISTER = 0xbf;
const SHIFT_RIGHT = 0x77;
const AND = 0x57;
const JUMP_UNLESS_EQUAL = 0x55;
const EXIT = 0x95;

/** `over`: how many instructions a jump skips, or how far into what `from` points to a load reads. */
const instruction = (
  code: number,
  {
    to = 0,
    from = 0,
    over = 0,
    value = 0,
  }: { to?: number; from?: number; over?: number; value?: number } = {},
): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt8(code, 0);
  bytes.writeUInt8(to | (from << 4), 1);
  bytes.writeInt16LE(over, 2);
  bytes.writeInt32LE(value, 4);
  return bytes;
};
