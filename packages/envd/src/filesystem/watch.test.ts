import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { EventType, type FilesystemEvent } from '@skerry/envd-client/filesystem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const TYPE_NAMES = Object.fromEntries(Object.entries(EventType).map(([name, value]) => [value, name]));
const toText = ({ type, name }: FilesystemEvent): string => `${TYPE_NAMES[type]} ${name}`;

let count = 0;
const folder = (): string => {
  count += 1;
  const path = join(agent.dir, `w${count}`);
  mkdirSync(path);
  return path;
};

interface Watcher {
  id: string;
  /**
   * What has come since the last call, once it is enough and nothing more is coming. What does not become enough comes back
   * as it is after a while.
   */
  drain(enough: number | ((events: string[]) => boolean)): Promise<string[]>;
}

const watch = async (path: string, options: { recursive?: boolean } = {}): Promise<Watcher> => {
  const { watcherId } = await agent.files().createWatcher({ path, ...options });
  return {
    id: watcherId,
    async drain(enough) {
      const isEnough = typeof enough === 'number' ? () => events.length >= enough : () => enough(events);
      const events: string[] = [];
      const latestMs = performance.now() + 20_000;
      for (let quiet = 0; quiet < 3 && performance.now() < latestMs; ) {
        const more = (await agent.files().getWatcherEvents({ watcherId })).events;
        events.push(...more.map(toText));
        quiet = more.length === 0 && isEnough() ? quiet + 1 : 0;
        await delay(20);
      }
      return events;
    },
  };
};

/** Whether the agent has the kernel watch this directory. */
const isWatched = (path: string): boolean =>
  readdirSync(`/proc/${agent.pid}/fdinfo`)
    .map((fd) => {
      try {
        return readFileSync(`/proc/${agent.pid}/fdinfo/${fd}`, 'utf8');
      } catch {
        // Closed since it was listed.
        return '';
      }
    })
    .some((text) => new RegExp(`^inotify wd:\\S+ ino:${statSync(path).ino.toString(16)} `, 'm').test(text));

describe('a watched directory', () => {
  it('reports nothing of its sub-directories unless it is recursive', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'sub'));
    const watcher = await watch(dir);
    writeFileSync(join(dir, 'sub/file'), 'x');
    expect(await watcher.drain(0)).toEqual([]);
  });

  it('ends when it is moved away', async () => {
    const dir = folder();
    const watcher = await watch(dir);
    renameSync(dir, `${dir}-moved`);
    await expect.poll(() => isWatched(`${dir}-moved`)).toBe(false);
    const { events } = await agent.files().getWatcherEvents({ watcherId: watcher.id });
    expect(events.map(toText)).toEqual(['RENAME .']);
    const get = () => agent.files().getWatcherEvents({ watcherId: watcher.id });
    await expect(get()).rejects.toMatchObject({ code: Code.Internal });
    await expect(get()).rejects.toMatchObject({ code: Code.NotFound });
  });

  it('may be given as a link', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'real'));
    symlinkSync('real', join(dir, 'link'));
    const watcher = await watch(join(dir, 'link'));
    writeFileSync(join(dir, 'real/file'), '');
    expect(await watcher.drain(1)).toEqual(['CREATE file']);
  });

  it('reports the same to each of several watchers', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'sub'));
    const whole = await watch(dir, { recursive: true });
    const part = await watch(join(dir, 'sub'));
    writeFileSync(join(dir, 'sub/file'), '');
    expect(await whole.drain(1)).toEqual(['CREATE sub/file']);
    expect(await part.drain(1)).toEqual(['CREATE file']);
    await agent.files().removeWatcher({ watcherId: whole.id });
    rmSync(join(dir, 'sub/file'));
    expect(await part.drain(1)).toEqual(['REMOVE file']);
  });
});

describe('a directory watched recursively', () => {
  it('reports what happens in directories that were there and in new ones', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'old/deep'), { recursive: true });
    const watcher = await watch(dir, { recursive: true });
    writeFileSync(join(dir, 'old/deep/file'), 'x');
    mkdirSync(join(dir, 'new'));
    await delay(50);
    writeFileSync(join(dir, 'new/file'), 'x');
    expect(await watcher.drain(5)).toEqual([
      'CREATE old/deep/file',
      'WRITE old/deep/file',
      'CREATE new',
      'CREATE new/file',
      'WRITE new/file',
    ]);
  });

  it('misses nothing and repeats nothing while a large tree is unpacked and removed', async () => {
    const source = folder();
    const expected: string[] = [];
    for (let at = 0; at < 40; at += 1) {
      const path = `d${at % 4}/e${at % 8}/f${at}`;
      mkdirSync(join(source, path), { recursive: true });
      for (const name of ['one', 'two', 'empty'])
        writeFileSync(join(source, path, name), name === 'empty' ? '' : name);
    }
    const walk = (path: string): void => {
      for (const entry of readdirSync(join(source, path), { withFileTypes: true })) {
        const child = path === '' ? entry.name : `${path}/${entry.name}`;
        expected.push(child);
        if (entry.isDirectory()) walk(child);
      }
    };
    walk('');
    for (let round = 0; round < 3; round += 1) {
      const dir = folder();
      const watcher = await watch(dir, { recursive: true });
      execFileSync('cp', ['-r', `${source}/.`, dir]);
      const filled = expected.filter((path) => /(one|two)$/.test(path));
      const all = [...expected.map((path) => `CREATE ${path}`), ...filled.map((path) => `WRITE ${path}`)];
      const events = await watcher.drain((some) => new Set(some).isSupersetOf(new Set(all)));
      const created = events.filter((event) => event.startsWith('CREATE')).map((event) => event.slice(7));
      expect(created.toSorted()).toEqual(expected.toSorted());
      const written = new Set(
        events.filter((event) => event.startsWith('WRITE')).map((event) => event.slice(6)),
      );
      expect([...written].toSorted()).toEqual(filled.toSorted());
      execFileSync('rm', ['-r', ...readdirSync(dir).map((name) => join(dir, name))]);
      const removed = await watcher.drain(expected.length);
      expect(removed.map((event) => event.slice(7)).toSorted()).toEqual(expected.toSorted());
      await agent.files().removeWatcher({ watcherId: watcher.id });
    }
  });

  it('stops at a directory that left, and reports what one that came in brings along', async () => {
    const dir = folder();
    const outside = folder();
    mkdirSync(join(dir, 'leaves'));
    mkdirSync(join(outside, 'comes'));
    writeFileSync(join(outside, 'comes/file'), 'x');
    const watcher = await watch(dir, { recursive: true });
    renameSync(join(dir, 'leaves'), join(outside, 'left'));
    renameSync(join(outside, 'comes'), join(dir, 'came'));
    await expect.poll(() => isWatched(join(outside, 'left'))).toBe(false);
    writeFileSync(join(outside, 'left/file'), '');
    expect(await watcher.drain(4)).toEqual([
      'RENAME leaves',
      'CREATE came',
      'CREATE came/file',
      'WRITE came/file',
    ]);
  });

  it('leaves out /proc and its like, which are endless and raise no events', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'proc'));
    execFileSync('nsenter', [
      '-m',
      '-t',
      String(agent.pid),
      'mount',
      '-t',
      'proc',
      'proc',
      join(dir, 'proc'),
    ]);
    mkdirSync(join(dir, 'sub'));
    const watcher = await watch(dir, { recursive: true });
    writeFileSync(join(dir, 'sub/file'), '');
    expect(await watcher.drain(1)).toEqual(['CREATE sub/file']);
    const watches = readdirSync(`/proc/${agent.pid}/fdinfo`)
      .map((fd) => readFileSync(`/proc/${agent.pid}/fdinfo/${fd}`, 'utf8'))
      .join('')
      .match(/^inotify wd/gm);
    expect(watches?.length).toBeLessThan(200);
  });

  it('reports all of a large tree that is moved in, once, and answers other calls meanwhile', async () => {
    let answersMeanwhile = 0;
    // This program may itself be held up while one tree is read.
    for (let tree = 0; tree < 10 && answersMeanwhile === 0; tree += 1) {
      const dir = folder();
      const outside = folder();
      const expected = ['CREATE in'];
      for (let at = 0; at < 2000; at += 1) {
        if (at % 50 === 0) expected.push(`CREATE in/d${at / 50}`);
        expected.push(`CREATE in/d${Math.floor(at / 50)}/e${at}`);
        mkdirSync(join(outside, `tree/d${Math.floor(at / 50)}/e${at}`), { recursive: true });
      }
      const watcher = await watch(dir, { recursive: true });
      renameSync(join(outside, 'tree'), join(dir, 'in'));
      const events: string[] = [];
      while (events.length < expected.length) {
        const more = (await agent.files().getWatcherEvents({ watcherId: watcher.id })).events;
        if (more.length > 0 && events.length + more.length < expected.length) answersMeanwhile += 1;
        events.push(...more.map(toText));
      }
      expect(events.toSorted()).toEqual(expected.toSorted());
      writeFileSync(join(dir, 'in/d39/e1999/file'), '');
      expect(await watcher.drain(1)).toEqual(['CREATE in/d39/e1999/file']);
    }
    expect(answersMeanwhile).toBeGreaterThan(0);
  });

  it('does not follow links, and watches what takes the place of a removed directory', async () => {
    const dir = folder();
    const outside = folder();
    symlinkSync(outside, join(dir, 'link'));
    mkdirSync(join(dir, 'sub'));
    const watcher = await watch(dir, { recursive: true });
    writeFileSync(join(outside, 'unseen'), '');
    rmdirSync(join(dir, 'sub'));
    mkdirSync(join(dir, 'sub'));
    await delay(50);
    writeFileSync(join(dir, 'sub/seen'), '');
    expect(await watcher.drain(3)).toEqual(['REMOVE sub', 'CREATE sub', 'CREATE sub/seen']);
  });
});
