import { closeSync, readFileSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mountRoot, prepareUpper } from '../drivers/oci/container/overlay.ts';
import { toSurroundings } from '../drivers/oci/rootless-backend.ts';
import { unmountEvery } from '../kernel/syscalls.ts';
import { openLimitedUserNamespace } from '../kernel/user-namespace.ts';
import { groundBaseId } from '../rootless/ground.ts';
import { describeLimits } from './ground-limits.ts';
import { probeNetwork } from './network.ts';
import { aptInstall, asRoot, type ProbedGround, type ProbeResult, probe } from './probe.ts';
import { prepareProbeAgent, probeRuntime } from './sandbox.ts';

/** Says what this process has been given. */
export function describeGround(): ProbeResult {
  const map = readFileSync('/proc/self/uid_map', 'utf8');
  const [, first, count] = new RegExp(`^\\s*${groundBaseId}\\s+(\\d+)\\s+(\\d+)$`, 'm').exec(map) ?? [];
  const found = `namespaces of the user with ${count} ids from ${first} on, which all sandboxes share; slirp4netns leads out`;
  return { name: 'ground', ok: first !== undefined, needed: true, found };
}

/** Tries what sandboxes are made of in a ground, and names what they lack there. */
export async function probeGround(dir: string, ground: ProbedGround): Promise<ProbeResult[]> {
  const { stateDir } = ground;
  const surroundings = toSurroundings(ground.ground);
  const overlay = await probeGroundOverlay(dir);
  const network = await probeNetwork({ dir, stateDir, surroundings });
  const agentDir = await prepareProbeAgent(dir).catch((error: Error) => error);
  if (agentDir instanceof Error) {
    return [{ name: 'agent', ok: false, needed: true, found: agentDir.message, mend: aptInstall('tini') }];
  }
  const crun = await probeRuntime({ name: 'crun', needed: true, dir, agentDir, ground });
  const lacking: [string, string][] = [
    ['snapshots', 'a sandbox is paused with its files; it is not captured while it runs, or forked'],
    ['memory', 'pauses end the processes of a sandbox'],
  ];
  const missing = lacking.map(
    ([name, found]): ProbeResult => ({ name, ok: false, needed: false, found, mend: asRoot }),
  );
  return [overlay, network, crun, ...describeLimits(stateDir), ...missing];
}

const probeGroundOverlay = (dir: string): Promise<ProbeResult> =>
  probe({ name: 'overlay', needed: true, mend: 'use Linux 5.14 or newer, with overlayfs' }, async () => {
    const [disk, rootfs, root, lower] = ['disk', 'image', 'root', 'lower'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
      string,
    ];
    for (const path of [disk, rootfs, root, lower]) await mkdir(path);
    await writeFile(join(rootfs, 'shared'), 'shared');
    prepareUpper({ disk, baseId: groundBaseId }, {});
    // Made as for a sandbox, which shows that ids can be given on.
    closeSync(
      await openLimitedUserNamespace({ baseId: groundBaseId, owner: groundBaseId, processCount: 10 }),
    );
    mountRoot({ disk, rootfs, target: root, lower, userNamespace: undefined });
    try {
      await writeFile(join(root, 'shared'), 'own');
      if ((await readFile(join(rootfs, 'shared'), 'utf8')) !== 'shared') {
        throw new Error('a sandbox can write to the shared image');
      }
      await stat(join(disk, 'upper/shared'));
    } finally {
      unmountEvery(root);
    }
    return 'a shared image is read by a sandbox and never written to';
  });
