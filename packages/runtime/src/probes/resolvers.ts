import { findResolvers } from '../network/resolvers.ts';
import { type ProbeResult, probe } from '../probe.ts';

/** Looks for name servers that a sandbox can ask; `files` are those of `findResolvers`. */
export const probeResolvers = (files?: readonly string[]): Promise<ProbeResult> => {
  const mend = "echo 'nameserver 9.9.9.9' >> /etc/resolv.conf, or another IPv4 server outside of 127.0.0.0/8";
  return probe({ name: 'name servers', needed: false, mend }, async () => {
    const servers = findResolvers(files);
    if (servers.length === 0)
      throw new Error(
        '/etc/resolv.conf, systemd-resolved and NetworkManager name no IPv4 server outside of this host',
      );
    return `sandboxes ask ${servers.join(', ')}`;
  });
};
