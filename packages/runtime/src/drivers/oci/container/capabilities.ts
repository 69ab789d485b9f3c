/**
 * The capabilities of root inside, within its own user namespace: own, read and signal everything in the sandbox,
 * become another user, install packages. Missing from the usual set of container engines: MKNOD (devices come from a
 * list), NET_RAW (ping works without it, by `ping_group_range`) and AUDIT_WRITE (the audit log is the host's). With
 * SYS_NICE the agent can lower the priority of the sandbox's processes; raising one needs the capability on the host
 * (sched(7)).
 */
export const capabilities = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETFCAP',
  'CAP_SETGID',
  'CAP_SETPCAP',
  'CAP_SETUID',
  'CAP_SYS_CHROOT',
  'CAP_SYS_NICE',
] as const;
