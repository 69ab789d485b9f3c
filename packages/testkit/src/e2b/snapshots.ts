import { expect, it } from 'vitest';
import type { NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

/** Calls the API itself: no release has a way to say that the files are enough. */
const captureFiles = async (sandboxId: string, name?: string): Promise<string> => {
  const { E2B_API_URL, E2B_DOMAIN, E2B_API_KEY = '' } = process.env;
  const url = `${E2B_API_URL ?? `https://api.${E2B_DOMAIN}`}/sandboxes/${sandboxId}/snapshots`;
  const headers = { 'X-API-Key': E2B_API_KEY, 'content-type': 'application/json' };
  const body = JSON.stringify({ memory: false, name });
  const response = await fetch(url, { method: 'POST', headers, body });
  expect(response.status).toBe(201);
  return ((await response.json()) as { snapshotID: string }).snapshotID;
};

/** Snapshots, as the middle release and the newest see them. */
export function snapshotsScenario(ask: Ask): void {
  const askNewest = () => ask().e2b as unknown as NewestE2b;

  it('lists snapshots, creates from them by id and by name, and deletes them', async () => {
    const { Sandbox } = askNewest();
    const source = await Sandbox.create();
    await source.files.write('kept', 'kept');
    // A name of this release and this way alone: the service keeps the names of all.
    const name = `made-of-${source.sandboxId}`;
    const unnamed = await captureFiles(source.sandboxId);
    const named = await captureFiles(source.sandboxId, `${name}:v1`);
    expect(named).toContain(`/${name}:v1`);
    const pages = Sandbox.listSnapshots({ sandboxId: source.sandboxId, limit: 1 });
    const listed = [await pages.nextItems(), await pages.nextItems()].flat();
    expect([listed.map(({ snapshotId }) => snapshotId), pages.hasNext]).toEqual([[named, unnamed], false]);
    await source.kill();

    for (const template of [unnamed, named, `${name}:v1`]) {
      const copy = await Sandbox.create(template);
      expect(await copy.files.read('kept')).toBe('kept');
      await expect(Sandbox.deleteSnapshot(template)).rejects.toThrow(/400/);
      await copy.kill();
    }
    await expect(Sandbox.create(`${name}:v2`)).rejects.toThrow(/404/);
    for (const id of [unnamed, named]) {
      expect(await Sandbox.deleteSnapshot(id)).toBe(true);
      expect(await Sandbox.deleteSnapshot(id)).toBe(false);
    }
    expect(await Sandbox.listSnapshots({ sandboxId: source.sandboxId }).nextItems()).toEqual([]);
  });
}
