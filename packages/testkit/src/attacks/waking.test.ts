import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { nodes } from '@skerry/sdk';
import { expect } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { atEachLevel } from './attack.ts';

const autoResume = { enabled: true };

/** Empties all files of a checkpoint, as a failing disk may. Returns their number. */
const damage = (dataDir: string, id: string): number => {
  const files = ['-name', '*.img', '-not', '-path', '*/disk/*', '-size', '+0', '-print'];
  const empty = ['-exec', 'truncate', '-s', '0', '{}', '+'];
  const found = execFileSync('find', [join(dataDir, 'sandboxes', id), ...files, ...empty], {
    encoding: 'utf8',
  });
  return found.trim().split('\n').length;
};

atEachLevel(({ open, attack, server }) => {
  const stateOf = async (sandboxID: string) =>
    (await server().api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } })).data?.state;

  attack(
    'resuming a paused sandbox through its agent without its token',
    'the edge, which checks the token before it resumes anything',
    async () => {
      const sandbox = await open({ autoResume });
      const url = sandbox.getUrl(49_983);
      const signed = new URL(await sandbox.downloadUrl('/etc/hostname'));
      await sandbox.pause();
      const attempts: [string, Record<string, string>][] = [
        ['/health', {}],
        ['/health', { 'x-access-token': 'wrong' }],
        ['/envs', { 'x-access-token': '' }],
        ['/files?path=/etc/hostname', {}],
        [`/files${signed.search.replace(/signature=./, 'signature=x')}`, {}],
        [`/files${signed.search.replace('hostname', 'shadow')}`, {}],
      ];
      for (const [path, headers] of attempts)
        expect((await fetchByHost(`${url}${path}`, { headers })).status, path).toBe(403);
      expect((await fetchByHost(`${url}/init`, { method: 'POST' })).status).toBe(404);
      expect(await stateOf(sandbox.sandboxId)).toBe('paused');
      expect((await fetchByHost(signed.href)).status).toBe(200);
    },
  );

  attack(
    'resuming a paused sandbox through a private port without its token',
    'the edge, which checks the token before it resumes anything',
    async () => {
      const sandbox = await open({ autoResume, network: { allowPublicTraffic: false } });
      await sandbox.pause();
      const url = `${sandbox.getUrl(8000)}/`;
      const attempts: Record<string, string>[] = [
        {},
        { 'e2b-traffic-access-token': 'x' },
        { 'x-access-token': 'x' },
        { 'user-agent': 'Mozilla/5.0', accept: 'text/html' },
      ];
      for (const headers of attempts) expect((await fetchByHost(url, { headers })).status).toBe(403);
      expect(await stateOf(sandbox.sandboxId)).toBe('paused');
      const headers = { 'e2b-traffic-access-token': sandbox.trafficAccessToken ?? '' };
      expect((await fetchByHost(url, { headers })).status).toBe(502);
      expect(await stateOf(sandbox.sandboxId)).toBe('running');
    },
  );

  attack(
    'making a server start a sandbox over and over that cannot start',
    'a pause before each further attempt, which grows',
    async () => {
      const sandbox = await open({ autoResume });
      const { sandboxId: id } = sandbox;
      await sandbox.pause();
      expect(damage(server().dataDir, id)).toBeGreaterThan(0);
      const ask = () => fetchByHost(`${sandbox.getUrl(8000)}/`);
      const floods = [];
      const until = Date.now() + 2_500;
      while (Date.now() < until) floods.push(...(await Promise.all(Array.from({ length: 20 }, ask))));
      for (const { status, headers, text } of floods) {
        expect(status).toBe(403);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
        expect(text).toContain('could not be resumed');
      }
      expect(floods.length).toBeGreaterThan(50);
      const { wakeProblem = '', history } = await nodes.explain(id, server().connection);
      const attempts = Number(/\((\d+) attempts?\)/.exec(wakeProblem)?.[1]);
      expect(attempts).toBeLessThanOrEqual(2);
      const message = 'sandbox could not be resumed and stays paused';
      expect(history.filter((entry) => entry.message === message)).toHaveLength(attempts);
    },
  );
});
