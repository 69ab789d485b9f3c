import { arch } from 'node:os';

/** Numbers on x86-64 and on 64-bit ARM of calls that reach past a sandbox. */
export const dangerousCalls: Record<string, readonly [x64: number, arm64: number]> = {
  acct: [163, 89],
  add_key: [248, 217],
  bpf: [321, 280],
  clock_settime: [227, 112],
  clone3: [435, 435],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsmount: [432, 432],
  fsopen: [430, 430],
  init_module: [175, 105],
  io_uring_setup: [425, 425],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  pivot_root: [155, 41],
  quotactl: [179, 60],
  reboot: [169, 142],
  request_key: [249, 218],
  setns: [308, 268],
  settimeofday: [170, 170],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  userfaultfd: [323, 282],
};

/**
 * A script that makes each call with arguments that mean nothing and prints `name refused` when the answer is EPERM or
 * ENOSYS; without a filter most would answer that the arguments are wrong.
 */
export const toCallScript = (): string => {
  const index = arch() === 'arm64' ? 1 : 0;
  const calls = Object.entries(dangerousCalls).map(
    ([name, numbers]) =>
      `$! = 0; $r = syscall(${numbers[index]}, -1, -1, -1, -1, -1, -1); ` +
      `print "${name} ", ($r < 0 && ($! == 1 || $! == 38) ? "refused" : "answered-$r-" . ($! + 0)), "\\n";`,
  );
  return `perl -e '${calls.join(' ')}'`;
};
