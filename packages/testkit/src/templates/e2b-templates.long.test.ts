import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type NewestE2b, testedClients } from '../e2b/clients.ts';
import { resolveToLoopback } from '../e2b/loopback-names.ts';
import { type Stack, startStack } from '../stack/stack.ts';

let stack: Stack;
let forget: () => void;
beforeAll(async () => {
  forget = resolveToLoopback('localhost');
  stack = await startStack();
  vi.stubEnv('E2B_API_KEY', stack.address.apiKey);
  vi.stubEnv('E2B_API_URL', stack.address.apiUrl);
  vi.stubEnv('E2B_SANDBOX_URL', stack.address.sandboxUrl);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await stack.down();
  forget();
});

const clients = testedClients.filter(({ generation }) => generation !== 'oldest');

describe.each(clients)('e2b $version', (client) => {
  it('builds a template with a start command, tags, finds and deletes it', async () => {
    const { Template, Sandbox, waitForPort } = (await client.load()) as NewestE2b;
    const name = `served-by-${client.generation}`;
    const template = Template()
      .fromTemplate('base')
      .setWorkdir('/srv/www')
      .runCmd('echo served > index.html')
      .setStartCmd('python3 -m http.server 8000', waitForPort(8000));
    const built = await Template.build(template, `${name}:v1`, { cpuCount: 1, memoryMB: 256 });
    expect(built).toMatchObject({ tags: ['v1'] });

    const timed = async (
      from: string,
    ): Promise<[sandbox: Awaited<ReturnType<typeof Sandbox.create>>, number]> => {
      const started = performance.now();
      const sandbox = await Sandbox.create(from);
      return [sandbox, performance.now() - started];
    };
    const [plain, plainMs] = await timed('base');
    await plain.kill();
    const [sandbox, tookMs] = await timed(`${name}:v1`);
    expect((await sandbox.commands.run('curl -s localhost:8000')).stdout).toBe('served\n');
    // Python alone takes as long to serve, on a quiet machine; a busy one takes longer for any sandbox.
    expect(tookMs).toBeLessThan(10_000 + 3 * plainMs);
    const answer = await fetch(`${stack.address.sandboxUrl}/index.html`, {
      headers: { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '8000' },
    });
    expect(await answer.text()).toBe('served\n');
    await sandbox.kill();

    expect(await Template.assignTags(`${name}:v1`, ['production', 'default'])).toEqual({
      buildId: built.buildId,
      tags: ['production', 'default'],
    });
    const tags = async () => (await Template.getTags(name)).map(({ tag }) => tag).toSorted();
    expect(await tags()).toEqual(['default', 'production', 'v1']);
    await Template.removeTags(name, 'production');
    expect(await tags()).toEqual(['default', 'v1']);
    await expect(Template.removeTags(name, 'default')).rejects.toThrow(/default/);
    await expect(Template.assignTags(`${name}:none`, 'any')).rejects.toThrow(/not found/);

    expect(await Template.exists(name)).toBe(true);
    const { response } = await stack.api.DELETE('/templates/{templateID}', {
      params: { path: { templateID: built.templateId } },
    });
    expect(response.status).toBe(204);
    expect(await Template.exists(name)).toBe(false);
  });

  // One suffices: each writes the image of the snapshot again, and the request is that of any template.
  if (client.generation === 'newest')
    it('builds a template on a snapshot, by its id', async () => {
      const { Template, Sandbox } = (await client.load()) as NewestE2b;
      const name = `on-a-snapshot-by-${client.generation}`;
      const source = await Sandbox.create();
      await source.files.write('kept', 'kept');
      const { snapshotId } = await source.createSnapshot();
      await source.kill();
      await Template.build(Template().fromTemplate(snapshotId), name);
      expect(await Sandbox.deleteSnapshot(snapshotId)).toBe(true);
      const sandbox = await Sandbox.create(name);
      expect(await sandbox.files.read('kept')).toBe('kept');
      await sandbox.kill();
    });
});
