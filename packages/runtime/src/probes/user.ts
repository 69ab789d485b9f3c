import { open, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { runCommand } from '../kernel/run-command.ts';
import { aptInstall, type ProbeResult, probe } from '../probe.ts';
import { findIdRange, neededIds, toFreeRange } from '../rootless/id-ranges.ts';
import { persist } from './check-host.ts';
import { type HostFacts, readHostFacts } from './host-facts.ts';

/** Reports the user of this process, and that root can have more. */
export const describeUser = (): Promise<ProbeResult> =>
  probe({ name: 'root', needed: false, mend: 'run skerry as root: sudo skerry' }, async () => {
    throw new Error('this process is not root of the host: sandboxes have what an ordinary user can provide');
  });

/** Tries each thing that an ordinary user needs of this host for sandboxes, by using it. */
export async function probeUser(facts: HostFacts): Promise<ProbeResult[]> {
  return Promise.all([
    probeIds('/etc/subuid', 'subuids'),
    probeIds('/etc/subgid', 'subgids'),
    probeMapPrograms(),
    probeNamespaces(facts),
    probeUplinkProgram(),
    probeTunnelDevice(),
  ]);
}

const probeIds = async (path: string, kind: 'subuids' | 'subgids'): Promise<ProbeResult> => {
  const { username: name, uid } = userInfo();
  const text = await readFile(path, 'utf8').catch(() => '');
  const first = toFreeRange(text);
  const mend = `usermod --add-${kind} ${first}-${first + neededIds - 1} ${name}`;
  return probe({ name: kind, needed: true, mend }, async () => {
    const found = findIdRange(text, { name, uid });
    if (found === undefined) throw new Error(`${path} assigns ${name} no range of ${neededIds} ids`);
    return `${neededIds} ids from ${found} on`;
  });
};

const probeMapPrograms = (): Promise<ProbeResult> =>
  probe({ name: 'uidmap', needed: true, mend: aptInstall('uidmap') }, async () => {
    for (const file of ['newuidmap', 'newgidmap']) {
      const refusal = await runCommand({ file, args: [] }).then(
        () => '',
        (error: Error) => error.message,
      );
      // Called without arguments they print their usage.
      if (!/usage/i.test(refusal)) throw new Error(refusal || `${file} does not print its usage`);
    }
    return 'newuidmap and newgidmap map the ids of a namespace';
  });

const switches = [
  ['kernel.apparmor_restrict_unprivileged_userns', (value: number) => value !== 0, 0],
  ['kernel.unprivileged_userns_clone', (value: number) => value === 0, 1],
  ['user.max_user_namespaces', (value: number) => value === 0, 65_536],
] as const;

/** The line that allows ordinary users to make user namespaces, by the settings that prevent it. */
export const toNamespaceMend = (facts: Pick<HostFacts, 'setting'>): string =>
  toSettingsMend(facts) ??
  'let this user make user namespaces: the kernel, a container around it, or a security module refuses';

function toSettingsMend({ setting }: Pick<HostFacts, 'setting'>): string | undefined {
  const refusing = switches.flatMap(([name, refuses, wanted]) => {
    // A kernel without the setting does not refuse by it.
    const value = setting(name);
    return value !== undefined && refuses(value) ? [`${name}=${wanted}`] : [];
  });
  return refusing.length > 0 ? persist(...refusing) : undefined;
}

/** Returns the advice of `toNamespaceMend` for this host; undefined where no setting prevents it. */
export function readNamespaceMend(): string | undefined {
  return toSettingsMend(readHostFacts());
}

const probeNamespaces = (facts: HostFacts): Promise<ProbeResult> => {
  const mend = toNamespaceMend(facts);
  return probe({ name: 'namespaces', needed: true, mend }, async () => {
    // Where a security module allows the namespace but nothing in it, this fails.
    const args = ['--user', '--map-root-user', '--mount', '--net', 'mount', '-t', 'tmpfs', 'none', '/mnt'];
    await runCommand({ file: 'unshare', args });
    return 'this user may make namespaces, and mount in them';
  });
};

const probeUplinkProgram = (): Promise<ProbeResult> =>
  probe({ name: 'slirp4netns', needed: true, mend: aptInstall('slirp4netns') }, async () => {
    const [version = ''] = (await runCommand({ file: 'slirp4netns', args: ['--version'] })).split('\n');
    return `${version.trim()}, leads out of a network namespace`;
  });

const probeTunnelDevice = (): Promise<ProbeResult> =>
  probe({ name: 'tun', needed: true, mend: 'modprobe tun; chmod 666 /dev/net/tun' }, async () => {
    const device = await open('/dev/net/tun', 'r+');
    await device.close();
    return '/dev/net/tun can be opened';
  });
