import type { Instance } from '@skerry/runtime';
import { tellAgent } from './tell-agent.ts';

/** What the agent of a sandbox is told before anybody else may talk to it. */
export interface AgentInit {
  sandboxId: string;
  templateId: string;
  /** Replaces the variables that the agent had. */
  envVars: Record<string, string>;
  /** Without one the agent answers everybody. */
  accessToken?: string;
  /** RFC 3339; the agent sets its clock by it and ignores an older one than it has seen. */
  timestamp: string;
  defaultUser: string;
}

/**
 * Tells the agent over its private channel. Resolves when the agent has applied all of it; rejects when the channel
 * fails, the agent refuses, or the signal aborts.
 */
export const initAgent = (
  instance: Pick<Instance, 'control'>,
  init: AgentInit,
  options: { signal: AbortSignal },
): Promise<void> => tellAgent(instance, { path: '/init', body: init }, options);
