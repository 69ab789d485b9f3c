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
import { runCommand } from '../kernel/run-command.ts';
import { mountShifted } from '../kernel/shifted-mount.ts';
import { MountFlag, mount } from '../kernel/syscalls.ts';
import { openUserNamespace } from '../kernel/user-namespace.ts';
import { openCheckout } from './checkout.ts';

/** An ordinary user that this host does not know, and the subordinate ids: behind those of root's sandboxes. */
const user = { name: 'skerry-test', uid: 64_321 };
const firstSubordinateId = 2_000_000_000;

/** Whether an id of the host is the user's, or one of the subordinate ids. */
export const isIdOfUser = (id: number): boolean =>
  id === user.uid || (id >= firstSubordinateId && id < firstSubordinateId + 65_536);

/**
 * Switches this process for good to an ordinary user with a home at `dir/home`, and runs a command as that user. Only
 * for a process whose mounts are private: in them, and nowhere else, the host knows the user, assigns ids, opens the
 * tunnel device to all and makes the programs of this checkout accessible. `dir/images` contains base images of the
 * host, as if the user had made them.
 */
export async function runAsUser(options: {
  dir: string;
  imagesDir: string;
  command: readonly string[];
}): Promise<never> {
  const { dir, imagesDir, command } = options;
  for (const name of ['etc', 'home', 'images', 'dev']) mkdirSync(join(dir, name), { recursive: true });
  // The user may traverse this folder and not list it.
  chmodSync(dir, 0o711);
  process.chdir(dir);
  showUser(join(dir, 'etc'));
  await showTunnel(join(dir, 'dev'));
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
  mount({ source: from, target: to, type: 'none', flags: MountFlag.bind, data: '' });
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

const showTunnel = async (dev: string): Promise<void> => {
  mount({ source: 'none', target: dev, type: 'tmpfs', flags: 0, data: 'mode=755' });
  await runCommand({ file: 'mknod', args: ['-m', '666', join(dev, 'tun'), 'c', '10', '200'] });
  bind(join(dev, 'tun'), '/dev/net/tun');
};

/** Root's images are files, with their descriptions beside them; without root an image is a folder. */
const showImages = async (from: string, to: string): Promise<void> => {
  const userNamespace = await openUserNamespace(firstSubordinateId);
  for (const name of readdirSync(from).filter((entry) => /^base-.*\.json$/.test(entry))) {
    const { image } = JSON.parse(readFileSync(join(from, name), 'utf8')) as { image: string };
    const mounted = join(to, `${name}.mounted`);
    const target = join(to, name.replace(/\.json$/, ''));
    for (const path of [mounted, join(target, 'rootfs')]) mkdirSync(path, { recursive: true });
    await runCommand({
      file: 'mount',
      args: ['-o', 'loop,ro', join(from, `${image.replace(':', '-')}.ext4`), mounted],
    });
    await copyFile(join(from, name), join(target, 'manifest.json'));
    for (const path of [target, join(target, 'rootfs')]) chownSync(path, user.uid, user.uid);
    mountShifted({ source: join(mounted, 'rootfs'), target: join(target, 'rootfs'), userNamespace });
  }
  closeSync(userNamespace);
};
