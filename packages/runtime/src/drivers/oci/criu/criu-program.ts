import { RuntimeError } from '../../../error.ts';

/**
 * The program made to take its group for its user where it asks who it is: it acts as a sandbox's owner with all that root
 * may do, and for anybody but root it leaves out half of its work, whatever he may do.
 * @throws RuntimeError `unsupported` when it does not ask as expected
 */
export const standForRoot = (program: Buffer): Buffer => {
  const at = findOnly(program, Buffer.from('\0geteuid\0'));
  if (at === undefined) throw new RuntimeError('unsupported', 'this CRIU does not ask who it is as expected');
  const changed = Buffer.from(program);
  changed.write('getegid', at + 1);
  return changed;
};

/**
 * The program made to ask for no tracked connections, in a dump, instead of for all: loopback is not tracked, and no other
 * connection outlives one. To find those of one network the kernel looks through its table of all networks, twice, which
 * takes a tenth of a dump. Undefined where it asks in another way, as on other architectures, or for none already.
 */
export const withoutTracked = (program: Buffer): Buffer | undefined => {
  const at = findOnly(program, request(IPCTNL_MSG_CT_GET));
  if (at === undefined) return undefined;
  const changed = Buffer.from(program);
  request(IPCTNL_MSG_CT_GET_UNCONFIRMED).copy(changed, at);
  return changed;
};

/**
 * The program made to keep the files of a tmpfs as they are, where it has them compressed by another program: that takes
 * longer than all else, of more than a few, and two programs to start of none. It restores none that are compressed.
 * Undefined where it does not say so as expected.
 */
export const withoutGzip = (program: Buffer): Buffer | undefined => {
  const at = findOnly(program, Buffer.from('\0--gzip\0'));
  if (at === undefined) return undefined;
  const changed = Buffer.from(program);
  // That it can be read at any place, which is so.
  changed.write('--seek', at + 1);
  return changed;
};

// linux/netfilter/nfnetlink_conntrack.h. The latter are connections whose first packet is still being looked at; since
// Linux 6.0 none is ever listed.
const IPCTNL_MSG_CT_GET = 1;
const IPCTNL_MSG_CT_GET_UNCONFIRMED = 7;

/** linux/netlink.h, the first half of struct nlmsghdr, which compilers for x86-64 write as one number: length, type, flags. */
const request = (message: number): Buffer => {
  const NFNL_SUBSYS_CTNETLINK = 1;
  const [NLM_F_REQUEST, NLM_F_DUMP] = [1, 0x300] as const;
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(20, 0);
  bytes.writeUInt16LE((NFNL_SUBSYS_CTNETLINK << 8) | message, 4);
  bytes.writeUInt16LE(NLM_F_REQUEST | NLM_F_DUMP, 6);
  return bytes;
};

/** Undefined when there is none, or another one. */
const findOnly = (program: Buffer, bytes: Buffer): number | undefined => {
  const at = program.indexOf(bytes);
  return at === -1 || program.includes(bytes, at + 1) ? undefined : at;
};
