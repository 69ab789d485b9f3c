import { afterAll, beforeAll, expect } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { attackFromOutside } from './attack.ts';

let stack: SharedStack;
beforeAll(async () => {
  stack = await joinStack({ level: 'gvisor' });
});
afterAll(() => stack.leave());

attackFromOutside(
  'asking for a sandbox below the least level of the server',
  'the level that the operator chose, which each create is compared with',
  async () => {
    for (const create of ['/sandboxes', '/v2/sandboxes'] as const) {
      const body = { templateID: 'base', timeout: 60, isolation: 'container' } as const;
      const { response, error } = await stack.api.POST(create, { body });
      expect(response.status).toBe(400);
      expect(error?.message).toContain('body.isolation: "container" is below "gvisor"');
    }
  },
);
