import { expect, it } from 'vitest';
import { makeArchive, toFilesHash } from '../templates/archive.ts';
import type { Ask } from './given.ts';

interface StartBody {
  fromImage?: string;
  fromTemplate?: string;
  steps: { type: string; args: string[]; force: boolean; filesHash?: string }[];
  startCmd?: string;
  readyCmd?: string;
}

/** Templates as the oldest release builds them: it has no builder, and a typed client of the operations. */
export function earlyBuildsScenario(ask: Ask, askImage: () => string): void {
  const createApi = () => {
    const { ApiClient, ConnectionConfig } = ask().e2b;
    return new ApiClient(new ConnectionConfig()).api;
  };
  /** Registers, starts and follows a build; resolves with its template and its log. */
  const buildWith = async (alias: string, toBody: (templateID: string) => Promise<StartBody>) => {
    const api = createApi();
    const size = { cpuCount: 1, memoryMB: 256 };
    const { data: registered } = await api.POST('/v2/templates', { body: { alias, ...size } });
    const { templateID = '', buildID = '' } = registered ?? {};
    const path = { templateID, buildID };
    const body = { force: false, ...(await toBody(templateID)) };
    const { response } = await api.POST('/v2/templates/{templateID}/builds/{buildID}', {
      params: { path },
      body,
    });
    expect(response.status).toBe(202);
    const log: string[] = [];
    await expect
      .poll(async () => {
        const params = { path, query: { logsOffset: log.length } };
        const { data } = await api.GET('/templates/{templateID}/builds/{buildID}/status', { params });
        log.push(...(data?.logEntries ?? []).map(({ message }) => message));
        return data?.status;
      })
      .toMatch(/ready|error/);
    return { templateID, log: log.join('\n') };
  };
  const step = (type: string, args: string[], filesHash?: string) => ({
    ...{ type, args, force: false },
    ...(filesHash !== undefined && { filesHash }),
  });

  it('builds a template by the operations, with files, users, variables and a server, and deletes it', async () => {
    expect(ask().e2b).not.toHaveProperty('Template');
    const api = createApi();
    const alias = `early-${ask().sandbox.sandboxId}`;
    const { templateID, log } = await buildWith(alias, async (id) => {
      const upload = async (...entries: Parameters<typeof makeArchive>[0]): Promise<string> => {
        const hash = toFilesHash(`${alias} ${entries[0]?.name}`);
        const params = { path: { templateID: id, hash } };
        const { data: link } = await api.GET('/templates/{templateID}/files/{hash}', { params });
        expect(link).toMatchObject({ present: false });
        const body = await makeArchive(entries);
        expect((await fetch(link?.url ?? '', { method: 'PUT', body })).ok).toBe(true);
        return hash;
      };
      const site = await upload(
        { name: 'www/index.html', mode: 0o755, content: 'early\n' },
        { name: 'www/link', type: 'symlink', linkname: 'index.html' },
      );
      const secret = await upload({ name: 'secret', content: 's' });
      const steps = [
        step('COPY', ['www/*', '/srv/www/', '', ''], site),
        step('COPY', ['secret', '/srv/secret', 'root', '0600'], secret),
        step('ENV', ['PLACE', '/srv/www']),
        step('RUN', ['id -un > $PLACE/who']),
        step('USER', ['worker']),
        step('RUN', ['id -un > /tmp/who']),
        step('RUN', ['id -un > /root/who', 'root']),
        step('WORKDIR', ['/srv/www']),
      ];
      const readyCmd = 'curl -sf localhost:8000/link';
      return { fromTemplate: 'base', steps, startCmd: 'python3 -m http.server 8000', readyCmd };
    });
    expect(log).toContain('RUN id -un > $PLACE/who');
    const { Sandbox } = ask().e2b;
    const sandbox = await Sandbox.create(alias);
    const command = `cat /srv/www/who /tmp/who /root/who; curl -s localhost:8000/link
      stat -c '%n %a %U' /srv/secret /srv/www/index.html; readlink /srv/www/link`;
    expect((await sandbox.commands.run(command, { user: 'root' })).stdout).toBe(
      'user\nworker\nroot\nearly\n/srv/secret 600 root\n/srv/www/index.html 755 user\nindex.html\n',
    );
    const remove = () => api.DELETE('/templates/{templateID}', { params: { path: { templateID } } });
    expect((await remove()).response.status).toBe(400);
    await sandbox.kill();
    expect((await remove()).response.status).toBe(204);
    await expect(Sandbox.create(alias)).rejects.toThrow(/not found/);
  });

  it('builds a template from an image of a registry by the operations, and reports what failed', async () => {
    const alias = `early-image-${ask().sandbox.sandboxId}`;
    const fromImage = askImage();
    const failed = await buildWith(alias, async () => ({ fromImage, steps: [step('RUN', ['exit 3'])] }));
    expect(failed.log).toContain("'exit 3': exit status 3");
    await buildWith(alias, async () => ({ fromImage, steps: [step('RUN', ['echo built > made'])] }));
    const sandbox = await ask().e2b.Sandbox.create(alias);
    expect(await sandbox.files.read('made')).toBe('built\n');
    await sandbox.kill();
  });
}
