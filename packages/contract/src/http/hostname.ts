/** The host name of a `Host` header, for comparison: without case, port and the dot of the root. */
export const toHostname = (host: string): string => {
  const bracketed = /^\[([^\]]*)\]/.exec(host)?.[1];
  return (bracketed ?? host.replace(/:[0-9]*$/, '')).replace(/\.$/, '').toLowerCase();
};
