/**
 * Program: CRIU
 * Does: Makes a dump of CRIU ask the kernel for tracked connections whose first packet is still being handled, in place of
 * all tracked connections. Since Linux 6.0 the kernel lists none of the former, and before it none of loopback.
 * Why not the promised way: CRIU has no option for it, also not for an external network namespace. skerry needs none of
 * them: connections over loopback are not tracked, and no other connection outlives a dump. The kernel has one table for
 * all networks, of which it goes through every place, twice, while the processes stand still.
 * Source: criu/net.c (`dump_nf_ct`), linux/netfilter/nfnetlink_conntrack.h. The patch for the source is in docs/criu.md.
 * When it no longer fits: The unchanged program does the same in more time.
 * Test: skip-tracked.test.ts for the bytes, memory.driver.test.ts for what the connections of a sandbox do after a pause.
 * Bench row: snapshot.stop.memory.
 */
const IPCTNL_MSG_CT_GET = 1;
const IPCTNL_MSG_CT_GET_UNCONFIRMED = 7;

/** The changed program, or undefined when it does not ask as expected, as on other architectures. */
export const withoutTracked = (program: Buffer): Buffer | undefined => {
  const asked = toRequest(IPCTNL_MSG_CT_GET);
  const at = program.indexOf(asked);
  if (at === -1 || program.includes(asked, at + 1)) return undefined;
  const changed = Buffer.from(program);
  toRequest(IPCTNL_MSG_CT_GET_UNCONFIRMED).copy(changed, at);
  return changed;
};

/** Whether the program was changed by `withoutTracked`. */
export const skipsTracked = (program: Buffer): boolean =>
  program.includes(toRequest(IPCTNL_MSG_CT_GET_UNCONFIRMED));

/** linux/netlink.h, the first half of struct nlmsghdr, which compilers for x86-64 write as one number: length, type, flags. */
const toRequest = (message: number): Buffer => {
  const NFNL_SUBSYS_CTNETLINK = 1;
  const [NLM_F_REQUEST, NLM_F_DUMP] = [1, 0x300] as const;
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(20, 0);
  bytes.writeUInt16LE((NFNL_SUBSYS_CTNETLINK << 8) | message, 4);
  bytes.writeUInt16LE(NLM_F_REQUEST | NLM_F_DUMP, 6);
  return bytes;
};
