import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventType, type FilesystemEvent, FileType } from '@skerry/envd-client/filesystem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

let count = 0;
/** A new folder that holds one file. */
const folder = (): { path: string; file: string } => {
  count += 1;
  const path = join(agent.dir, `s${count}`);
  mkdirSync(path);
  const file = join(path, 'file');
  writeFileSync(file, 'hello', { mode: 0o644 });
  return { path, file };
};

const headers = { 'user-agent': 'connect-python' };
const ask = async (method: string, body: object, more: Record<string, string> = headers): Promise<unknown> =>
  (await agent.call(`filesystem.Filesystem/${method}`, body, more)).json;

describe('a client whose User-Agent is connect-python', () => {
  it('gets no more of an entry than its name, type and path in JSON', async () => {
    const { path, file } = folder();
    const entry = { name: 'file', type: 'FILE_TYPE_FILE', path: file };
    const type = 'FILE_TYPE_DIRECTORY';
    expect(await ask('Stat', { path: file })).toEqual({ entry });
    expect(await ask('ListDir', { path })).toEqual({ entries: [entry] });
    const made = join(path, 'made');
    expect(await ask('MakeDir', { path: made })).toEqual({ entry: { name: 'made', type, path: made } });
    const moved = join(path, 'moved');
    expect(await ask('Move', { source: made, destination: moved })).toEqual({
      entry: { name: 'moved', type, path: moved },
    });
  });

  it('gets no more of an event than its name and type in JSON', async () => {
    const { path } = folder();
    const { watcherId } = (await ask('CreateWatcher', { path, includeEntry: true })) as { watcherId: string };
    mkdirSync(join(path, 'new'));
    await expect
      .poll(() => ask('GetWatcherEvents', { watcherId }))
      .toEqual({ events: [{ name: 'new', type: 'EVENT_TYPE_CREATE' }] });
  });

  it.each([false, true])('gets the same from calls and streams when binary is %s', async (binary) => {
    const client = agent.files({ headers, binary });
    const { path, file } = folder();
    const { entry } = await client.stat({ path: file });
    expect(entry).toMatchObject({
      name: 'file',
      type: FileType.FILE,
      path: file,
      size: 0n,
      mode: 0,
      owner: '',
    });
    expect(entry?.modifiedTime).toBeUndefined();
    const events: FilesystemEvent[] = [];
    for await (const { event } of client.watchDir({ path, includeEntry: true })) {
      if (event.case === 'start') mkdirSync(join(path, 'new'));
      if (event.case !== 'filesystem') continue;
      events.push(event.value);
      break;
    }
    expect(events).toMatchObject([{ name: 'new', type: EventType.CREATE }]);
    expect(events[0]?.entry).toBeUndefined();
  });

  it('is meant exactly: any other gets the whole entry', async () => {
    const { file } = folder();
    for (const name of ['connect-python/0.5', 'Connect-Python', 'python'])
      expect(await ask('Stat', { path: file }, { 'user-agent': name })).toMatchObject({
        entry: { size: 5, owner: 'root', permissions: '-rw-r--r--' },
      });
  });
});
