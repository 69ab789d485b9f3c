import { readFileSync } from 'node:fs';
import type { ProbeResult } from '../probe.ts';

/**
 * Reports what prevents sandboxes on the mount of `folder`, from a text as in `/proc/self/mountinfo` (proc(5));
 * undefined where nothing does. `folder` is absolute and has no link in it.
 */
export function checkDataFolder(
  folder: string,
  mountinfo: string = readFileSync('/proc/self/mountinfo', 'utf8'),
): ProbeResult | undefined {
  const mount = findMount(folder, mountinfo);
  const about = { name: 'data folder', ok: false, needed: false };
  if (mount?.options.includes('noexec')) {
    const found = `${mount.point} is mounted noexec: runc, gvisor and pauses with memory do not work there`;
    return { ...about, found, mend: `mount -o remount,exec ${mount.point}` };
  }
  if (mount?.type === 'tmpfs') {
    const found = `${mount.point} is memory: sandboxes that are paused are lost with it`;
    return { ...about, found, mend: 'name a folder on a disk by --data' };
  }
  return undefined;
}

interface Mount {
  point: string;
  options: string[];
  type: string;
}

function findMount(folder: string, mountinfo: string): Mount | undefined {
  let found: Mount | undefined;
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , , escaped = '', options = ''] = before.split(' ');
    const point = escaped.replaceAll(/\\(\d{3})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    );
    const holds = point === '/' || folder === point || folder.startsWith(`${point}/`);
    // The later of two mounts at the same path hides the other.
    if (point !== '' && holds && point.length >= (found?.point.length ?? 0))
      found = { point, options: options.split(','), type: after.split(' ')[0] ?? '' };
  }
  return found;
}
