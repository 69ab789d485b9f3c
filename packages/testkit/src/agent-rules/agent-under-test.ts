import { createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import { afterAll, beforeAll, describe } from 'vitest';
import { joinStack } from '../stack/shared-stack.ts';
import { startBareAgent } from './bare-agent.ts';
import { createPlainCalls, type PlainCalls } from './plain-calls.ts';

/** An agent that rules are tested on, whatever stands around it. */
export interface AgentUnderTest {
  /** Requests as they stand. */
  readonly plain: PlainCalls;
  readonly client: EnvdClient;
  /** Runs a shell script as root, where the agent runs programs. Resolves with its output; rejects unless it ends with 0. */
  run(script: string): Promise<string>;
}

interface Reachable {
  readonly url: string;
  readonly sandboxId: string;
  readonly accessToken: string;
  readonly client: EnvdClient;
  readonly asRoot: EnvdClient;
  end(): Promise<void>;
}

/**
 * Runs the tests that `define` declares on each agent: one that is a bare process of this host, and one in a sandbox, reached
 * through edge and platform. A rule that holds on one of them alone has to say so where it is tested.
 */
export const testAgents = (define: (agent: AgentUnderTest) => void): void => {
  describe.each([
    { name: 'a bare agent', open: openBare },
    { name: 'an agent in a sandbox', open: openInStack },
  ])('$name', ({ open }) => {
    let reached: Reachable | undefined;
    const reach = (): Reachable => {
      if (reached === undefined) throw new Error('the agent is there from the first test on, not before');
      return reached;
    };
    beforeAll(async () => {
      reached = await open();
    });
    afterAll(() => reached?.end());
    define({
      plain: createPlainCalls(() => {
        const { url, ...sandbox } = reach();
        return { stack: { address: { sandboxUrl: url } }, sandbox };
      }),
      get client() {
        return reach().client;
      },
      run: (script) => runScript(reach().asRoot, script),
    });
  });
};

const openBare = async (): Promise<Reachable> => {
  const { url, accessToken, stop } = await startBareAgent();
  const client = createEnvdClient({ baseUrl: url, accessToken });
  const asRoot = createEnvdClient({ baseUrl: url, accessToken, user: 'root' });
  return { url, accessToken, sandboxId: 'bare', client, asRoot, end: stop };
};

const openInStack = async (): Promise<Reachable> => {
  const stack = await joinStack();
  const sandbox = await stack.createSandbox({ timeoutSeconds: 600 });
  const { sandboxId, accessToken, agent: client } = sandbox;
  const asRoot = sandbox.agentOf('root');
  return {
    url: stack.address.sandboxUrl,
    sandboxId,
    accessToken,
    client,
    asRoot,
    end: () => stack.leave(),
  };
};

const runScript = async ({ process }: EnvdClient, script: string): Promise<string> => {
  const decoder = new TextDecoder();
  let output = '';
  let complaint = '';
  const program = { cmd: '/bin/sh', args: ['-c', script] };
  for await (const { event: outer } of process.start({ process: program, stdin: false })) {
    const event = outer?.event;
    if (event?.case === 'data' && event.value.output.case === 'stdout')
      output += decoder.decode(event.value.output.value, { stream: true });
    if (event?.case === 'data' && event.value.output.case === 'stderr')
      complaint += new TextDecoder().decode(event.value.output.value);
    if (event?.case === 'end' && event.value.exitCode !== 0)
      throw new Error(`${event.value.status}: ${complaint}`);
  }
  return output;
};
