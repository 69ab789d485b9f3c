import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import type { SharedStack } from '../stack/shared-stack.ts';
import { type Agent, type AgentSettings, type AgentSource, createAgent } from './agent.ts';
import { startBareAgent } from './bare-agent.ts';
import { openStackAgents } from './stack-agents.ts';

/** What a rule may need that an agent lacks by itself. Each text completes "skipped: a bare agent …". */
const lacking = {
  sandbox: 'has the disks, limits and namespaces of the host',
  platform: 'has no platform and is reached directly, unless a test puts an edge before it',
  time: 'would repeat half a minute of waiting that the sandbox has proven',
} as const;
type Capability = keyof typeof lacking;

/** The agent that the rules are tested on. It is there from the first `beforeAll` of a test file on, not before. */
export interface AgentUnderTest extends Agent {
  /** Another agent of the same kind. It ends with this one, or when its `end` is called. */
  another(settings?: AgentSettings): Promise<Agent>;
  /** Skips the tests of this `describe`, with the reason, where the agent lacks the capability. */
  needs(capability: Capability): void;
  /** Whether it lacks every capability. */
  readonly isBare: boolean;
  /** The server in front of it, where `platform` is no lack. */
  readonly stack: SharedStack;
}

/**
 * Runs the tests that `define` declares on each kind of agent: a bare process of this host, and one in a sandbox that is reached
 * through edge and platform. A rule that holds on one of them alone states the capability that it needs.
 */
export const testAgents = (define: (agent: AgentUnderTest) => void, settings: AgentSettings = {}): void => {
  describe.each([
    { name: 'a bare agent', openSource: openBareAgents, isBare: true },
    { name: 'an agent in a sandbox', openSource: openStackAgents, isBare: false },
  ])('$name', ({ openSource, isBare }) => {
    let source: AgentSource | undefined;
    let opened: Agent | undefined;
    const present = <T>(value: T | undefined, what: string): T => {
      if (value === undefined) throw new Error(`${what} is not there`);
      return value;
    };
    beforeAll(async () => {
      source = await openSource();
      opened = await source.open(settings);
    });
    afterAll(() => source?.close());
    const agent = createAgent(() => present(opened, 'the agent'));
    define(Object.defineProperties(agent, {
      another: {
        value: (other?: AgentSettings) =>
          present(source, 'the agent').open({ ...(settings.hasEdge && { hasEdge: true }), ...other }),
      },
      needs: {
        value: (capability: Capability) =>
          beforeEach(({ skip }) => skip(isBare, `a bare agent ${lacking[capability]}`)),
      },
      isBare: { value: isBare },
      stack: { get: () => present(source?.stack, 'the platform') },
    }) as AgentUnderTest);
  });
};

const openBareAgents = async (): Promise<AgentSource> => {
  const made: Agent[] = [];
  return {
    async open(settings = {}) {
      const connection = await startBareAgent(settings);
      const agent = createAgent(() => connection);
      made.push(agent);
      return agent;
    },
    async close() {
      await Promise.all(made.map((agent) => agent.end()));
    },
  };
};
