import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { AskUpstream } from './dns/ask-upstream.ts';
import { createResolver, type Resolver } from './dns/resolver.ts';
import { serveDns } from './dns/serve-dns.ts';
import { acceptConnection } from './proxy/accept.ts';
import type { ConnectionBudget } from './proxy/budget.ts';
import type { Connection, Destination } from './proxy/connection.ts';
import { createHttpProxy } from './proxy/http-proxy.ts';
import { createNameRules } from './rules/name-rules.ts';
import { createPins } from './rules/pins.ts';

/** What one sandbox may reach. */
export interface SandboxPolicy {
  /** Names, each exact or `*.` with a name. */
  names: readonly string[];
  ask: AskUpstream;
  isClosed(address: string): boolean;
}

/** The part of the gateway that one sandbox uses. */
export interface SandboxGateway {
  /** Replaces its policy. Connections for names that are no longer allowed are reset. */
  update(policy: SandboxPolicy): void;
  /** Resets all connections. */
  close(): void;
}

/** The most connections of one sandbox at a time. */
const MAX_CONNECTIONS = 1_024;

/**
 * Listens at the host's end of a sandbox's link, to which the host redirects what the sandbox sends to port 53 of its name servers and to
 * ports 80 and 443. Rejects when the address or a port is not to be had.
 */
export const openSandboxGateway = async (
  options: {
    host: string;
    guest: string;
    dnsPort: number;
    proxyPort: number;
    /** Shared by all sandboxes. */
    budget: ConnectionBudget;
    /** Returns where a redirected connection was meant to go; undefined when it was not redirected. */
    findDestination(socket: Socket): Destination | undefined;
  },
  first: SandboxPolicy,
): Promise<SandboxGateway> => {
  const pins = createPins();
  const compile = ({
    names,
    ...policy
  }: SandboxPolicy): { rules: ReturnType<typeof createNameRules>; resolver: Resolver } => {
    const rules = createNameRules(names);
    return { rules, resolver: createResolver({ ...policy, rules, pins }) };
  };
  let current = compile(first);
  const judge = { leadsTo: (name: string, address: string) => current.resolver.leadsTo(name, address) };
  const http = createHttpProxy(judge);
  const connections = new Set<Connection>();
  const findDestination = (socket: Socket): Destination | undefined => {
    try {
      return options.findDestination(socket);
    } catch {
      // The connection is reset, like one that was not redirected.
      return undefined;
    }
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const destination = findDestination(socket);
    if (destination === undefined || socket.remoteAddress !== options.guest || !options.budget.take()) {
      socket.resetAndDestroy();
      return;
    }
    const connection: Connection = { socket, destination, name: undefined };
    connections.add(connection);
    socket.once('close', () => {
      connections.delete(connection);
      options.budget.give();
    });
    acceptConnection(connection, { judge, http });
  });
  server.maxConnections = MAX_CONNECTIONS;
  const dns = await serveDns({
    ...{ host: options.host, guest: options.guest, port: options.dnsPort },
    resolver: () => current.resolver,
  });
  const close = (): void => {
    dns.close();
    http.close();
    server.close();
    for (const { socket } of connections) socket.resetAndDestroy();
  };
  try {
    server.listen(options.proxyPort, options.host);
    await once(server, 'listening');
  } catch (error) {
    close();
    throw error;
  }
  // A connection that cannot be accepted, as when no descriptor is to be had, fails for its client alone.
  server.on('error', () => undefined);
  return {
    update: (policy) => {
      current = compile(policy);
      for (const { name, socket } of connections)
        if (name !== undefined && !current.rules.allows(name)) socket.resetAndDestroy();
    },
    close,
  };
};
