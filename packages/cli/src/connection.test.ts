import { openDataFolder, writeServerAddress } from '@skerry/server/data-folder';
import { tryLock } from '@skerry/server/data-lock';
import { createTemporaryFolder } from '@skerry/server/temporary-folder';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConnection } from './connection.ts';
import { contextsFile, writeContexts } from './contexts.ts';

const local = {
  apiUrl: 'http://localhost:4900',
  sandboxUrl: 'http://localhost:4900',
  domain: 'localhost:4900',
  apiKey: 'e2b_local',
};
const newFolder = (): string => openDataFolder(createTemporaryFolder());
const withServer = (): string => {
  const data = newFolder();
  const lock = tryLock(data);
  onTestFinished(() => lock?.release());
  writeServerAddress(data, { ...local, pid: process.pid, startTicks: 1 });
  return data;
};

describe('the server of a command', () => {
  it('is the one of the data folder with its own key when no URL is set, whatever the value of E2B_API_KEY', async () => {
    const data = withServer();
    expect(await resolveConnection({ data }, {})).toMatchObject(local);
    expect(await resolveConnection({ data }, { E2B_API_KEY: 'e2b_hosted' })).toMatchObject(local);
  });

  it('gets the key of --api-key, else of SKERRY_API_KEY, else its own', async () => {
    const data = withServer();
    const env = { SKERRY_API_KEY: 'e2b_env', E2B_API_KEY: 'e2b_hosted' };
    expect(await resolveConnection({ data }, env)).toMatchObject({ ...local, apiKey: 'e2b_env' });
    expect(await resolveConnection({ data, apiKey: 'e2b_flag' }, env)).toMatchObject({
      ...local,
      apiKey: 'e2b_flag',
    });
  });

  it('is the one whose URL is set, with the key of the flag, of SKERRY_API_KEY or of E2B_API_KEY', async () => {
    const data = withServer();
    const apiUrl = 'https://api.example.test';
    const env = { E2B_API_URL: apiUrl, E2B_API_KEY: 'e2b_hosted' };
    expect(await resolveConnection({ data }, env)).toEqual({ apiUrl, apiKey: 'e2b_hosted' });
    expect(await resolveConnection({ data }, { ...env, SKERRY_API_KEY: 'e2b_env' })).toEqual({
      apiUrl,
      apiKey: 'e2b_env',
    });
    expect(await resolveConnection({ data, apiUrl, apiKey: 'e2b_flag' }, env)).toEqual({
      apiUrl,
      apiKey: 'e2b_flag',
    });
  });

  it('never gets the key of another server: a URL without a key is refused', async () => {
    const data = withServer();
    await expect(resolveConnection({ data, apiUrl: 'https://api.example.test' }, {})).rejects.toThrow(
      /no API key/,
    );
  });

  it('is not a killed server that left its address file', async () => {
    const data = newFolder();
    writeServerAddress(data, { ...local, pid: process.pid, startTicks: 1 });
    const noServer = new RegExp(`^no server is running for ${data}.*start it with "skerry up"`);
    await expect(resolveConnection({ data }, {})).rejects.toThrow(noServer);
    tryLock(data)?.release();
    await expect(resolveConnection({ data }, {})).rejects.toThrow(noServer);
    const apiUrl = 'https://api.example.test';
    expect(await resolveConnection({ data, apiUrl, apiKey: 'e2b_flag' }, {})).toMatchObject({ apiUrl });
  });

  it('must be named when none runs from the data folder', async () => {
    await expect(resolveConnection({ data: newFolder() }, { E2B_API_KEY: 'e2b_hosted' })).rejects.toThrow(
      /no server/,
    );
  });

  it('is the current context where nothing else names one, and the named one before the environment', async () => {
    const home = createTemporaryFolder();
    const env = { XDG_CONFIG_HOME: home };
    const work = { apiUrl: 'https://work.example.test', apiKey: 'e2b_work' };
    const play = { apiUrl: 'https://play.example.test', apiKey: 'e2b_play', domain: 'play.example.test' };
    writeContexts(contextsFile(env), { current: 'work', contexts: { work, play } });
    expect(await resolveConnection({}, env)).toEqual(work);
    expect(await resolveConnection({ context: 'play', domain: 'other.test' }, env)).toEqual({
      ...play,
      domain: 'other.test',
    });
    const urls = { SKERRY_API_URL: 'https://api.example.test', SKERRY_API_KEY: 'e2b_env' };
    expect(await resolveConnection({}, { ...env, ...urls })).toMatchObject({ apiUrl: urls.SKERRY_API_URL });
    expect(await resolveConnection({ context: 'play' }, { ...env, ...urls })).toEqual(play);
    expect(await resolveConnection({}, { ...env, ...urls, SKERRY_CONTEXT: 'play' })).toEqual(play);
    expect(await resolveConnection({ data: withServer() }, env)).toMatchObject(local);
    await expect(resolveConnection({ context: 'none' }, env)).rejects.toThrow(
      'no context none; there are: work, play',
    );
  });
});
