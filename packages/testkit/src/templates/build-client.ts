import type { components } from '@skerry/platform-client';
import { expect } from 'vitest';
import type { StackClient } from '../stack/stack-client.ts';

type Schemas = components['schemas'];
type Registered = Schemas['BuildRequested'];

/** Registers, starts and follows builds, as a client without a library of its own does. */
export const createBuildClient = ({ api }: Pick<StackClient, 'api'>) => {
  const toPath = ({ templateID, buildID }: Registered) => ({ path: { templateID, buildID } });

  const register = async (name: string): Promise<Registered> => {
    const { data, error } = await api.POST('/v3/templates', { body: { name } as never });
    if (data === undefined) throw new Error(JSON.stringify(error));
    return data;
  };
  const start = (registered: Registered, body: object) =>
    api.POST('/v2/templates/{templateID}/builds/{buildID}', {
      params: toPath(registered),
      body: body as never,
    });
  const waitForEnd = async (registered: Registered): Promise<Schemas['BuildInfo']> => {
    const read = async () =>
      (await api.GET('/templates/{templateID}/builds/{buildID}/status', { params: toPath(registered) })).data;
    await expect
      .poll(async () => (await read())?.status, { timeout: 60_000, interval: 100 })
      .toMatch(/ready|error/);
    return (await read()) as Schemas['BuildInfo'];
  };
  const getLink = (templateID: string, hash: string) =>
    api.GET('/templates/{templateID}/files/{hash}', { params: { path: { templateID, hash } } });

  return {
    register,
    start,
    waitForEnd,
    getLink,
    /** Uploads an archive and resolves with the status of the answer. */
    upload: async (templateID: string, hash: string, body: BodyInit): Promise<number> => {
      const { url = '' } = (await getLink(templateID, hash)).data ?? {};
      return (await fetch(url, { method: 'PUT', body, duplex: 'half' } as RequestInit)).status;
    },
    /** Registers and starts a build, and resolves with its end. Rejects when its start is refused. */
    build: async (registered: Registered, body: object): Promise<Schemas['BuildInfo']> => {
      const { error } = await start(registered, body);
      if (error !== undefined) throw new Error(error.message);
      return waitForEnd(registered);
    },
  };
};

export type BuildClient = ReturnType<typeof createBuildClient>;
