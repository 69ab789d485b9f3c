import { MountFlag, mount } from '../../../kernel/syscalls.ts';

/**
 * Mounts a file or folder of the host over itself with the restrictions that it is to have inside, for the mounts of
 * this thread alone. What an OCI runtime binds from there has them from the start: crun sets those of its bundle last,
 * without root not at all, and not on the second mount of a file below `/proc/sys`, which it makes by binding that over
 * itself.
 */
export const restrictSource = (path: string, { readOnly }: { readOnly: boolean }): void => {
  const plain = { source: path, target: path, type: '', data: '' };
  mount({ ...plain, flags: MountFlag.bind });
  const { remount, bind, nosuid, nodev, noexec } = MountFlag;
  const restrictions = nosuid | nodev | noexec | (readOnly ? MountFlag.readOnly : 0);
  mount({ ...plain, flags: remount | bind | restrictions });
};

/**
 * Makes the mount of `/dev/null` read-only for the mounts of this thread alone; reading and writing the device still work. crun
 * changes the owner of its first three descriptors to root of the sandbox, which could then take the host's `/dev/null` from
 * all other users. On a read-only mount the kernel refuses that.
 */
export const protectNullDevice = (): void => {
  const plain = { source: '/dev/null', target: '/dev/null', type: '', data: '' };
  mount({ ...plain, flags: MountFlag.bind });
  const { remount, bind, nosuid, noexec, readOnly } = MountFlag;
  mount({ ...plain, flags: remount | bind | nosuid | noexec | readOnly });
};
