import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConnection } from './connection.ts';
import { openDataFolder, writeServerAddress } from './data-folder.ts';
import { tryLock } from './data-lock.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';

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

describe('the server that a command talks to', () => {
  it('is the one of the data folder with its own key when no URL is given, whatever E2B_API_KEY says', () => {
    const data = withServer();
    expect(resolveConnection({ data }, {})).toMatchObject(local);
    expect(resolveConnection({ data }, { E2B_API_KEY: 'e2b_hosted' })).toMatchObject(local);
  });

  it('gets the key of --api-key before that of SKERRY_API_KEY before its own', () => {
    const data = withServer();
    const env = { SKERRY_API_KEY: 'e2b_env', E2B_API_KEY: 'e2b_hosted' };
    expect(resolveConnection({ data }, env)).toMatchObject({ ...local, apiKey: 'e2b_env' });
    expect(resolveConnection({ data, apiKey: 'e2b_flag' }, env)).toMatchObject({
      ...local,
      apiKey: 'e2b_flag',
    });
  });

  it('is the one whose URL is given, with the key of the flag, of SKERRY_API_KEY or of E2B_API_KEY', () => {
    const data = withServer();
    const apiUrl = 'https://api.example.test';
    const env = { E2B_API_URL: apiUrl, E2B_API_KEY: 'e2b_hosted' };
    expect(resolveConnection({ data }, env)).toEqual({ apiUrl, apiKey: 'e2b_hosted' });
    expect(resolveConnection({ data }, { ...env, SKERRY_API_KEY: 'e2b_env' })).toEqual({
      apiUrl,
      apiKey: 'e2b_env',
    });
    expect(resolveConnection({ data, apiUrl, apiKey: 'e2b_flag' }, env)).toEqual({
      apiUrl,
      apiKey: 'e2b_flag',
    });
  });

  it('never gets the key of another: a URL without a key is refused', () => {
    const data = withServer();
    expect(() => resolveConnection({ data, apiUrl: 'https://api.example.test' }, {})).toThrow(/no API key/);
  });

  it('is not one that was killed and left its address behind', () => {
    const data = newFolder();
    writeServerAddress(data, { ...local, pid: process.pid, startTicks: 1 });
    const noServer = new RegExp(`^no server is running for ${data}.*start it with "skerry up"`);
    expect(() => resolveConnection({ data }, {})).toThrow(noServer);
    tryLock(data)?.release();
    expect(() => resolveConnection({ data }, {})).toThrow(noServer);
    const apiUrl = 'https://api.example.test';
    expect(resolveConnection({ data, apiUrl, apiKey: 'e2b_flag' }, {})).toMatchObject({ apiUrl });
  });

  it('must be named when none runs from the data folder', () => {
    expect(() => resolveConnection({ data: newFolder() }, { E2B_API_KEY: 'e2b_hosted' })).toThrow(
      /no server/,
    );
  });
});
