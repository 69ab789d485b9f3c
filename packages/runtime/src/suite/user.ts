import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mountShifted } from '../drivers/oci/container/overlay.ts';
import { openUserNamespace } from '../kernel/user-namespace.ts';
import { openCheckout } from './checkout.ts';

/** An ordinary user that this host does not know, and his subordinate ids: behind those of root's sandboxes. */
const user = { name: 'skerry-test', uid: 64_321 };
const firstSubordinateId = 2_000_000_000;

/** Whether an id of the host is the user's, or one of those that he may give. */
export const isIdOfUser = (id: number): boolean =>
  id === user.uid || (id >= firstSubordinateId && id < firstSubordinateId + 65_536);

/**
 * Becomes, for good, an ordinary user with a home at `dir/home`, and runs a command as him. Only for a process whose mounts
 * are private: in them, and nowhere else, the host knows the user, gives him ids, opens the tunnel device to all and lets
 * him reach the programs of this checkout. In `dir/images` are base images of the host, as if he had made them.
 */
export async function runAsUser(options: {
  dir: string;
  imagesDir: string;
  command: readonly string[];
}): Promise<never> {
  const { dir, imagesDir, command } = options;
  for (const name of ['etc', 'home', 'images', 'dev']) mkdirSync(join(dir, name), { recursive: true });
  // He is in a folder that he may pass and not read.
  chmodSync(dir, 0o711);
  process.chdir(dir);
  showUser(join(dir, 'etc'));
  showTunnel(join(dir, 'dev'));
  await showImages(imagesDir, join(dir, 'images'));
  openCheckout();
  for (const name of ['home', 'images']) chownSync(join(dir, name), user.uid, user.uid);
  const ids = ['--reuid', user.uid, '--regid', user.uid, '--clear-groups', '--inh-caps=-all'].map(String);
  const env = { ...process.env, HOME: join(dir, 'home'), SKERRY_IMAGES_DIR: join(dir, 'images') };
  if (!process.execve) throw new Error('this Node cannot become another program');
  process.execve('/usr/bin/env', ['env', 'setpriv', ...ids, ...command], env);
  throw new Error('unreachable');
}

const bind = (from: string, to: string): void => {
  execFileSync('mount', ['--bind', from, to]);
};

const showUser = (etc: string): void => {
  const range = `${user.name}:${firstSubordinateId}:65536\n`;
  const texts = {
    passwd: `${readFileSync('/etc/passwd', 'utf8')}${user.name}:x:${user.uid}:${user.uid}::/:/bin/sh\n`,
    group: `${readFileSync('/etc/group', 'utf8')}${user.name}:x:${user.uid}:\n`,
    subuid: range,
    subgid: range,
  };
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(join(etc, name), text);
    bind(join(etc, name), join('/etc', name));
  }
};

const showTunnel = (dev: string): void => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'none', dev]);
  execFileSync('mknod', ['-m', '666', join(dev, 'tun'), 'c', '10', '200']);
  bind(join(dev, 'tun'), '/dev/net/tun');
};

const showImages = async (from: string, to: string): Promise<void> => {
  const userNamespace = await openUserNamespace(firstSubordinateId);
  for (const name of readdirSync(from).filter((entry) => entry.startsWith('base-'))) {
    const target = join(to, name);
    mkdirSync(join(target, 'rootfs'), { recursive: true });
    await copyFile(join(from, name, 'manifest.json'), join(target, 'manifest.json'));
    for (const path of [target, join(target, 'rootfs')]) chownSync(path, user.uid, user.uid);
    mountShifted({ source: join(from, name, 'rootfs'), target: join(target, 'rootfs'), userNamespace });
  }
  closeSync(userNamespace);
};
