/**
 * The ports of the gateway at the host's end of each link that a rule by name needs. Below the ports that the kernel gives to outgoing
 * connections: a program with one of those on all addresses would take it.
 */
export const gatewayPorts = { dns: 29_053, proxy: 29_443 } as const;

/**
 * The class of service (RFC 2474) with which a sandbox's namespace marks what the host passes to the gateway. It is one of those for local
 * use, and no host beyond this one sees it.
 */
export const GATEWAY_DSCP = 47;
