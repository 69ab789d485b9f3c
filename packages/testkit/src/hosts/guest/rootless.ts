import { strict as assert } from 'node:assert';
import { lchownSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { checkWork } from './checks.ts';
import { checkDown } from './down.ts';
import { checkFilesPause } from './keeping.ts';
import { checkLimits } from './limits.ts';
import { attempt, run } from './run.ts';
import { ensureServer, startServer, takeDown, usualServer } from './server.ts';

const user = 'lab';
export const userImagesDir = `/home/${user}/images`;

/** Lets the user's manager run without a session, as root, and gives the user the base image as if made by the user. */
export async function prepareUser(): Promise<void> {
  await run('loginctl', 'enable-linger', user);
  await attempt('rm', '-rf', userImagesDir);
  await run('mkdir', userImagesDir);
  const names = readdirSync('/opt/skerry/images').filter((name) => name.startsWith('base-'));
  for (const name of names) await run('cp', '-a', join('/opt/skerry/images', name), userImagesDir);
  const uid = Number(await run('id', '-u', user));
  const first = Number(new RegExp(`^${user}:(\\d+):`, 'm').exec(readFileSync('/etc/subuid', 'utf8'))?.[1]);
  lchownSync(userImagesDir, uid, uid);
  for (const name of names) {
    // Id 0 of an image is the first subordinate id.
    await run('python3', '-c', shift, join(userImagesDir, name, 'rootfs'), String(first));
    for (const path of ['', 'manifest.json']) lchownSync(join(userImagesDir, name, path), uid, uid);
  }
}

const shift = `
import os, stat, sys
root, by = sys.argv[1], int(sys.argv[2])
for folder, folders, files in os.walk(root):
    for path in [folder] + [os.path.join(folder, name) for name in files + folders]:
        found = os.lstat(path)
        if found.st_uid >= by: continue
        os.lchown(path, found.st_uid + by, found.st_gid + by)
        # A change of owner clears the set-user-id bit.
        if not stat.S_ISLNK(found.st_mode): os.chmod(path, stat.S_IMODE(found.st_mode))
`;

/** Checks as the user that sandboxes work, and that files are kept over a pause. */
export async function checkRootless(): Promise<void> {
  const connection = await ensureServer();
  await using sandbox = await Sandbox.create({ ...connection, timeoutMs: 3_600_000 });
  await checkWork(sandbox);
  await checkFilesPause(connection);
}

/** Checks as the user that the user's manager limits memory, processes and processors of sandboxes. */
export const checkRootlessLimits = async (): Promise<string> =>
  checkLimits(await ensureServer(), { disk: false });

/** Checks as the user that `skerry down` leaves nothing. */
export const checkRootlessDown = (): Promise<void> => checkDown({ memory: false });

/** Checks as the user that doctor and `up` name the setting that keeps the kernel from making user namespaces. */
export async function checkNoUserNamespaces(): Promise<string> {
  const doctor = await attempt('skerry', 'doctor');
  assert.notEqual(doctor.status, 0, `skerry doctor, which printed ${doctor.output}`);
  assert.match(doctor.output, /max_user_namespaces/, 'what skerry doctor says');
  const failure = await startServer(usualServer).then(
    async () => {
      await takeDown();
      return new Error('skerry up serves');
    },
    (error: Error) => error,
  );
  assert.match(failure.message, /max_user_namespaces/, 'what skerry up says');
  return doctor.output;
}
