/**
 * The capabilities of root inside, within its own user namespace: own, read and signal everything in the sandbox,
 * become another user, install packages. Missing from the usual set of container engines: MKNOD (devices come from a
 * list), NET_RAW (ping works without it, by `ping_group_range`) and AUDIT_WRITE (the audit log is the host's). With
 * SYS_NICE the agent can lower the priority of the sandbox's processes; raising one needs the capability on the host
 * (sched(7)).
 */
const numbers = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_FOWNER: 3,
  CAP_FSETID: 4,
  CAP_KILL: 5,
  CAP_NET_BIND_SERVICE: 10,
  CAP_SETFCAP: 31,
  CAP_SETGID: 6,
  CAP_SETPCAP: 8,
  CAP_SETUID: 7,
  CAP_SYS_CHROOT: 18,
  CAP_SYS_NICE: 23,
};

/** Their names, for the OCI runtime. */
export const capabilities = Object.keys(numbers);

/** These capabilities as a set of bits, by their numbers in linux/capability.h. */
export const capabilityMask = Object.values(numbers).reduce(
  (mask, number) => mask | (1n << BigInt(number)),
  0n,
);
