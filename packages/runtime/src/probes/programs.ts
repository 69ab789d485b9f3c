import { readFile } from 'node:fs/promises';
import { findTini } from '../agent-folder/agent-folder.ts';
import { runCommand } from '../kernel/run-command.ts';
import { aptInstall, type ProbeResult, probe } from '../probe.ts';

/** linux/capability.h: needed for mounts, network set-up, shifted owners, and ending sandboxes. */
const neededCapabilities = {
  CHOWN: 0,
  DAC_OVERRIDE: 1,
  KILL: 5,
  SETGID: 6,
  SETUID: 7,
  NET_ADMIN: 12,
  SYS_CHROOT: 18,
  SYS_ADMIN: 21,
} as const;

export const probeRoot = (): Promise<ProbeResult> =>
  probe({ name: 'root', needed: true, mend: 'run skerry as root: sudo skerry' }, async () => {
    if (process.geteuid?.() !== 0) throw new Error(`this process runs as user ${process.geteuid?.()}`);
    const status = await readFile('/proc/self/status', 'utf8');
    const effective = BigInt(`0x${/^CapEff:\s+(\w+)/m.exec(status)?.[1] ?? '0'}`);
    const missing = Object.entries(neededCapabilities)
      .filter(([, bit]) => ((effective >> BigInt(bit)) & 1n) === 0n)
      .map(([name]) => `CAP_${name}`);
    if (missing.length > 0) throw new Error(`root lacks ${missing.join(', ')} here`);
    return 'this process is root, with every capability that it needs';
  });

export const probeTini = (): Promise<ProbeResult> =>
  probe({ name: 'tini', needed: true, mend: aptInstall('tini') }, async () => {
    const path = await findTini();
    return `${path}, ${(await runCommand({ file: path, args: ['--version'] })).trim()}`;
  });

export const probeMmdebstrap = (): Promise<ProbeResult> =>
  probe({ name: 'mmdebstrap', needed: false, mend: aptInstall('mmdebstrap') }, async () => {
    const version = (await runCommand({ file: 'mmdebstrap', args: ['--version'] })).trim();
    return `${version}, makes the base template where no registry has one`;
  });
