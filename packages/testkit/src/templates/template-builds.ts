import { setTimeout as sleep } from 'node:timers/promises';
import type { components } from '@skerry/platform-client';
import { expect } from 'vitest';
import type { StackClient } from '../stack/stack-client.ts';

type Schemas = components['schemas'];
export type Registered = Pick<Schemas['BuildRequested'], 'templateID' | 'buildID'>;

/** The operations of a build, through the generated client. */
export interface TemplateBuilds {
  register(name: string, more?: object): Promise<Schemas['BuildRequested']>;
  /** Resolves with whatever the server answers. */
  start(build: Registered, body: object): Promise<{ response: Response; error?: Schemas['ErrorBody'] }>;
  readStatus(build: Registered, query?: object): Promise<Schemas['BuildInfo']>;
  /** Resolves when the build is ready or has failed. */
  waitForEnd(build: Registered): Promise<Schemas['BuildInfo']>;
  /** All of these in turn. */
  build(name: string, body: object): Promise<Schemas['BuildInfo']>;
}

/** The messages of the logs of builds. */
export const messagesOf = (...builds: readonly Schemas['BuildInfo'][]): string[] =>
  builds.flatMap(({ logEntries }) => logEntries.map(({ message }) => message));

/** `ask` returns the server that is used at the time of each call. */
export function createTemplateBuilds(ask: () => Pick<StackClient, 'api'>): TemplateBuilds {
  const builds: TemplateBuilds = {
    register: async (name, more = {}) => {
      const { data, error } = await ask().api.POST('/v3/templates', { body: { name, ...more } as never });
      if (data === undefined) throw new Error(JSON.stringify(error));
      return data;
    },
    start: ({ templateID, buildID }, body) =>
      ask().api.POST('/v2/templates/{templateID}/builds/{buildID}', {
        params: { path: { templateID, buildID } },
        body: body as never,
      }),
    readStatus: async ({ templateID, buildID }, query = {}) => {
      const path = { templateID, buildID };
      const { data, error } = await ask().api.GET('/templates/{templateID}/builds/{buildID}/status', {
        params: { path, query },
      });
      if (data === undefined) throw new Error(JSON.stringify(error));
      return data;
    },
    waitForEnd: async (build) => {
      // The limit of a test or hook ends it, if nothing else does.
      for (;;) {
        const found = await builds.readStatus(build);
        if (found.status === 'ready' || found.status === 'error') return found;
        await sleep(100);
      }
    },
    build: async (name, body) => {
      const registered = await builds.register(name);
      const { response } = await builds.start(registered, body);
      expect(response.status).toBe(202);
      return builds.waitForEnd(registered);
    },
  };
  return builds;
}
