import { BlockList, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { createAskUpstream } from './dns/ask-upstream.ts';
import { createConnectionBudget } from './proxy/budget.ts';
import type { Destination } from './proxy/connection.ts';
import { openSandboxGateway, type SandboxGateway, type SandboxPolicy } from './sandbox-gateway.ts';

/** A line of the helper: what a sandbox may reach, or that there is no such sandbox any more. */
export interface GatewayRequest {
  /** Repeated in the line that answers it. */
  id: number;
  /** The address of the host's end of the sandbox's link. */
  host: string;
  /** Absent: the sandbox has none. */
  sandbox?: {
    /** The address of the sandbox's end. */
    guest: string;
    names: readonly string[];
    /** The name servers to ask. */
    resolvers: readonly string[];
    /** Addresses and ranges that are closed beside those that are not public. */
    closedAddresses: readonly string[];
  };
}

/** The line that answers a request. */
export interface GatewayReply {
  id: number;
  /** Why the request failed. */
  error?: string;
}

export interface GatewayOptions {
  input: Readable;
  output: Writable;
  dnsPort: number;
  proxyPort: number;
  findDestination(socket: Socket): Destination | undefined;
  /** Whether an address is on the public internet. */
  isPublicAddress(address: string): boolean;
}

/** Runs the gateway of this machine. Resolves when the input ends. */
export const runGateway = async (options: GatewayOptions): Promise<void> => {
  const { input, output, isPublicAddress, ...ports } = options;
  const budget = createConnectionBudget();
  const opened = new Map<string, SandboxGateway>();
  const toPolicy = ({
    names,
    resolvers,
    closedAddresses,
  }: NonNullable<GatewayRequest['sandbox']>): SandboxPolicy => {
    const closed = toBlockList(closedAddresses);
    return {
      names,
      ask: createAskUpstream({ servers: resolvers }),
      isClosed: (address) => !isPublicAddress(address) || closed.check(address),
    };
  };
  const change = async ({ host, sandbox }: GatewayRequest): Promise<void> => {
    const known = opened.get(host);
    if (sandbox === undefined) {
      known?.close();
      opened.delete(host);
    } else if (known !== undefined) known.update(toPolicy(sandbox));
    else
      opened.set(
        host,
        await openSandboxGateway({ ...ports, budget, host, guest: sandbox.guest }, toPolicy(sandbox)),
      );
  };
  for await (const line of createInterface({ input })) {
    const request = JSON.parse(line) as GatewayRequest;
    const reply: GatewayReply = { id: request.id };
    await change(request).catch((error: Error) => {
      reply.error = error.message;
    });
    output.write(`${JSON.stringify(reply)}\n`);
  }
  for (const gateway of opened.values()) gateway.close();
};

const toBlockList = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = '32'] = range.split('/');
    list.addSubnet(address, Number(bits));
  }
  return list;
};
