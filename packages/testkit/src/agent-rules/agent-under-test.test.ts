import { readlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';

/** Skips are declared and not tried: these tests fail when an agent has what its tests are skipped for, or lacks what they need. */
testAgents((agent) => {
  const userNamespaceOfHost = readlinkSync('/proc/self/ns/user');
  const userNamespace = () => agent.run('readlink /proc/self/ns/user');
  /** The edge answers 502 for a sandbox that does not exist; an agent reads no routing header. */
  const healthOfUnknown = async () =>
    (await agent.plain.call('GET /health', { headers: { 'E2b-Sandbox-Id': 'inobody' } })).status;

  describe('an agent that tests declare able', () => {
    agent.needs('sandbox');

    it('runs in a user namespace of its own', async () => {
      expect(await userNamespace()).not.toBe(`${userNamespaceOfHost}\n`);
    });
  });

  describe('an agent behind a platform', () => {
    agent.needs('platform');

    it('is reached through an edge that reads routing headers', async () => {
      expect(await healthOfUnknown()).toBe(502);
    });
  });

  describe('an agent that tests declare bare', () => {
    it('shares the user namespace of the host and has no edge', async ({ skip }) => {
      skip(!agent.isBare, 'an agent in a sandbox lacks nothing');
      expect([await userNamespace(), await healthOfUnknown()]).toEqual([`${userNamespaceOfHost}\n`, 204]);
    });
  });
});
