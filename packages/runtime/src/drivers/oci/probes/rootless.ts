import { closeSync, readFileSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unmountEvery } from '../../../kernel/syscalls.ts';
import { openLimitedUserNamespace } from '../../../kernel/user-namespace.ts';
import { probeNetwork } from '../../../network/probe-network.ts';
import { aptInstall, asRoot, type ProbeResult, probe } from '../../../probe.ts';
import { rootlessBaseId } from '../../../rootless/namespace.ts';
import { mountRoot, prepareUpper } from '../container/overlay.ts';
import { toSurroundings } from '../rootless-backend.ts';
import type { ProbedRootless } from './probed-rootless.ts';
import { prepareProbeAgent, probeRuntime } from './sandbox.ts';

/** Reports the ids and namespaces of this process. */
export function describeRootlessNamespace(): ProbeResult {
  const map = readFileSync('/proc/self/uid_map', 'utf8');
  const [, first, count] = new RegExp(`^\\s*${rootlessBaseId}\\s+(\\d+)\\s+(\\d+)$`, 'm').exec(map) ?? [];
  const found = `namespaces of the user with ${count} ids from ${first} on, which all sandboxes share; slirp4netns leads out`;
  return { name: 'rootless namespace', ok: first !== undefined, needed: true, found };
}

/** Tries what sandboxes need in a rootless namespace, and reports what they lack there. */
export async function* probeRootless(
  dir: string,
  rootless: ProbedRootless,
): AsyncGenerator<ProbeResult, void, undefined> {
  const { stateDir } = rootless;
  const surroundings = toSurroundings(rootless.rootless);
  yield await probeRootlessOverlay(dir);
  yield await probeNetwork({ dir, stateDir, surroundings });
  const agentDir = await prepareProbeAgent(dir).catch((error: Error) => error);
  if (agentDir instanceof Error) {
    yield { name: 'agent', ok: false, needed: true, found: agentDir.message, mend: aptInstall('tini') };
    return;
  }
  yield await probeRuntime({ name: 'crun', needed: true, dir, agentDir, rootless });
  const lacking: [string, string][] = [
    ['snapshots', 'a sandbox is paused with its files; it is not captured while it runs, or forked'],
    ['memory', 'pauses end the processes of a sandbox'],
  ];
  for (const [name, found] of lacking) yield { name, ok: false, needed: false, found, mend: asRoot };
}

const probeRootlessOverlay = (dir: string): Promise<ProbeResult> =>
  probe({ name: 'overlay', needed: true, mend: 'use Linux 5.14 or newer, with overlayfs' }, async () => {
    const [disk, rootfs, root, lower] = ['disk', 'image', 'root', 'lower'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
      string,
    ];
    for (const path of [disk, rootfs, root, lower]) await mkdir(path);
    await writeFile(join(rootfs, 'shared'), 'shared');
    prepareUpper({ disk, baseId: rootlessBaseId }, {});
    // Made as for a sandbox, which shows that ids can be delegated further.
    closeSync(
      await openLimitedUserNamespace({ baseId: rootlessBaseId, owner: rootlessBaseId, processCount: 10 }),
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
