import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce, toDigest } from './built-once.ts';
import type { GuestImage } from './guest-image.ts';
import { runTool } from './run-tool.ts';

/** QEMU 7.2, that of Debian 12, breaks Node at random under emulation. */
const release = 'trixie';
const packages = 'qemu-system-x86,qemu-utils,seabios,ipxe-qemu';

/** Has what gVisor asks for to restore (xsave), which the older models lack. */
const cpuModel = 'Haswell-v4';

/** An unpacked QEMU, with the libraries of its own release. */
export interface Emulator {
  /** Runs one of its programs to its end. */
  run(program: string, args: readonly string[]): Promise<string>;
  /** Starts a machine. Its screen goes to `consolePath`, what QEMU complains of to `logPath`. */
  start(machine: Machine): ChildProcess;
}

export interface Machine {
  image: GuestImage;
  /** Writable disks, in the order of their names in the guest. */
  disks: readonly string[];
  consolePath: string;
  logPath: string;
  /** Unix socket of the guest's virtio port `skerry.lab`. */
  socketPath: string;
}

/** Resolves with QEMU, unpacked from Debian's packages when the cache has none. */
export async function ensureEmulator({ cacheDir }: { cacheDir: string }): Promise<Emulator> {
  const folder = await buildOnce({
    cacheDir,
    name: 'qemu',
    digest: toDigest(release, packages),
    build: async (work) => {
      await runTool('nice', ['mmdebstrap', '--variant=extract', `--include=${packages}`, release, work]);
    },
  });
  const toCommand = (program: string, args: readonly string[]): string[] => [
    join(folder, 'usr/lib64/ld-linux-x86-64.so.2'),
    ...['--library-path', join(folder, 'usr/lib/x86_64-linux-gnu')],
    join(folder, 'usr/bin', program),
    ...args,
  ];
  const firmware = ['qemu', 'seabios'].flatMap((name) => ['-L', join(folder, 'usr/share', name)]);
  return {
    run(program, args) {
      const [file = '', ...rest] = toCommand(program, args);
      return runTool(file, rest);
    },
    start(machine) {
      const args = [...firmware, ...toMachineArguments(machine)];
      // A guest ends with the run that started it, however that ends.
      const command = ['--pdeathsig', 'KILL', '--', ...toCommand('qemu-system-x86_64', args)];
      const log = openSync(machine.logPath, 'a');
      const child = spawn('setpriv', command, { stdio: ['ignore', log, log] });
      closeSync(log);
      return child;
    },
  };
}

const waits = 'systemd.default_device_timeout_sec=1800 systemd.default_timeout_start_sec=1800';

const toMachineArguments = ({ image, disks, consolePath, socketPath }: Machine): string[] => [
  ...['-no-user-config', '-nodefaults', '-display', 'none'],
  ...['-M', 'q35', '-accel', 'tcg,thread=multi,tb-size=1024', '-cpu', cpuModel, '-smp', '2', '-m', '6G'],
  ...['-kernel', image.kernel, '-initrd', image.initrd],
  // On a busy machine a disk may take longer to be found than systemd usually waits.
  ...['-append', `root=LABEL=root rw console=ttyS0 quiet no_timer_check ${waits}`],
  ...disks.flatMap((disk) => ['-drive', `file=${disk},format=qcow2,if=virtio,cache=unsafe,discard=unmap`]),
  ...['-netdev', 'user,id=uplink', '-device', 'virtio-net-pci,netdev=uplink,romfile='],
  ...['-device', 'virtio-rng-pci', '-device', 'virtio-serial-pci'],
  ...['-chardev', `socket,id=lab,path=${socketPath},server=on,wait=off`],
  ...['-device', 'virtserialport,chardev=lab,name=skerry.lab'],
  ...['-serial', `file:${consolePath}`],
];
