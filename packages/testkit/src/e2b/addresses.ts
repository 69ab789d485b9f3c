import { expect, it } from 'vitest';
import type { Ask } from './given.ts';

export type Scheme = 'http' | 'https';

/**
 * Signed URLs. The client makes them from the host name of the sandbox; one that was given a plain address for all sandboxes has
 * to be given that of this one instead.
 */
export function signedUrlScenario(ask: Ask, scheme: Scheme): void {
  it('signs URLs that allow one upload or download without a token', async () => {
    const { e2b, sandbox: made } = ask();
    const own: object = { sandboxUrl: `http://${made.getHost(49983)}` };
    const sandbox = scheme === 'https' ? made : await e2b.Sandbox.connect(made.sandboxId, own);
    const form = new FormData();
    form.append('file', new Blob(['through a link']), 'linked.txt');
    const uploaded = await fetch(await sandbox.uploadUrl('up/linked.txt'), { method: 'POST', body: form });
    expect(uploaded.status).toBe(200);
    expect(await sandbox.files.read('up/linked.txt')).toBe('through a link');

    const options = { useSignatureExpiration: 60, user: 'user' } as const;
    const link = await sandbox.downloadUrl('up/linked.txt', options);
    expect(await (await fetch(link)).text()).toBe('through a link');

    const other = new URL(link);
    other.searchParams.set('path', '/etc/shadow');
    expect((await fetch(other)).status).toBe(401);
    expect(new URL(link).protocol).toBe(`${scheme}:`);
    const late = await fetch(
      await sandbox.downloadUrl('up/linked.txt', { ...options, useSignatureExpiration: -10 }),
    );
    expect(late.status).toBe(401);
    expect(await late.json()).toEqual({ code: 401, message: 'signature is already expired' });
  });
}

/** Ports of a sandbox, at the host name that the client gives. */
export function portScenario(ask: Ask, scheme: Scheme): void {
  it('gives the host name of a port, where a server inside answers', async () => {
    const { sandbox } = ask();
    await sandbox.files.write('site/index.html', '<h1>inside</h1>');
    const serve = 'python3 -m http.server 8000 --directory site --bind 127.0.0.1';
    const server = await sandbox.commands.run(serve, { background: true });
    const url = `${scheme}://${sandbox.getHost(8000)}/index.html`;
    await expect.poll(async () => (await fetch(url)).status).toBe(200);
    expect(await (await fetch(url)).text()).toBe('<h1>inside</h1>');
    await server.kill();
  });
}
