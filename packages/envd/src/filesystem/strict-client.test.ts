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
describe('a client whose User-Agent is connect-python', () => {
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
});
