import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestApiServer, type TestApiServer, toPod } from '@skerry/platform/kubernetes-server';
import { loadCredentials } from '@skerry/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../log/log.ts';
import { startAuthority } from './authority.ts';
import { requestCertificate } from './request-certificate.ts';

const names = { authority: 'skerry-authority', platform: 'skerry-platform', server: 'skerry-server' };
const sender = {
  username: 'system:serviceaccount:skerry:skerry-node',
  extra: {
    'authentication.kubernetes.io/pod-name': ['one'],
    'authentication.kubernetes.io/pod-uid': ['uid-1'],
  },
};
const log = createLog({ write: () => undefined, level: 'error' });

let folder: string;
let kubeconfig: string;
let server: TestApiServer;
let running: { close(): Promise<void> } | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-authority-'));
  kubeconfig = join(folder, 'kubeconfig');
  server = await startTestApiServer({ sender });
  await server.writeKubeconfig(kubeconfig);
  const pod = toPod('one', { node: 'machine-1.internal' });
  server.put('pods', {
    ...pod,
    metadata: { ...pod.metadata, uid: 'uid-1' },
    spec: { ...(pod.spec as object), serviceAccountName: 'skerry-node' },
  });
});
afterEach(async () => {
  await running?.close();
  running = undefined;
  await server.stop();
  rmSync(folder, { recursive: true });
});

const start = async ({ usesOthers = false, days = 90 } = {}): Promise<void> => {
  running = await startAuthority({
    pods: { namespace: 'skerry', serviceAccount: 'skerry-node' },
    ...{ signer: 'skerry.io/test', kubeconfig, names, usesOthers, days, log },
  });
};
const request = (timeoutMs = 60_000) =>
  requestCertificate({ dir: join(folder, 'pair'), signer: 'skerry.io/test', kubeconfig, timeoutMs });
/** What a Secret has, as a pod would see its files. */
const secretFiles = (name: string): Record<string, string> =>
  (server.get('secrets', name)?.stringData ?? {}) as Record<string, string>;
const pair = (file: string) => join(folder, 'pair', file);

/** Stores secrets as an API server does with `stringData`. */
const storeSecrets = (): void => {
  for (const name of Object.values(names)) {
    const secret = server.get('secrets', name);
    const entries = Object.entries(secretFiles(name));
    const data = Object.fromEntries(
      entries.map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    if (secret) server.put('secrets', { ...secret, data });
  }
};

describe('the authority of an installation in Kubernetes', () => {
  it('makes the secrets once, and signs a pair for the machine of the pod that asks', async () => {
    await start();
    storeSecrets();
    const { secret, 'api-key': apiKey } = secretFiles(names.server);
    expect([secret, apiKey]).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      expect.stringMatching(/^e2b_/),
    ]);
    const platform = secretFiles(names.platform);
    for (const [file, text] of Object.entries(platform))
      writeFileSync(join(folder, file), text, { mode: 0o600 });
    const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), ca: join(folder, 'ca.crt') };
    expect(loadCredentials(files, { role: 'platform' }).role).toEqual({ role: 'platform' });
    expect(await request()).toBe('signed');
    const node = { cert: pair('node.crt'), key: pair('node.key'), ca: pair('ca.crt') };
    expect(loadCredentials(node, { role: 'node' }).role).toEqual({
      role: 'node',
      name: 'machine-1.internal',
    });
    expect(readFileSync(node.ca, 'utf8')).toBe(platform['ca.crt']);
    expect(statSync(node.key).mode & 0o777).toBe(0o600);
    await running?.close();
    await start();
    expect(secretFiles(names.server)).toEqual({ secret, 'api-key': apiKey });
    expect(secretFiles(names.platform)).toEqual(platform);
  });

  it('is not asked while a certificate has more than a third of its time left', async () => {
    await start();
    storeSecrets();
    await request();
    const before = readFileSync(pair('node.crt'), 'utf8');
    expect(await request()).toBe('kept');
    expect(readFileSync(pair('node.crt'), 'utf8')).toBe(before);
    writeFileSync(pair('ca.crt'), readFileSync(pair('node.crt')));
    expect(await request()).toBe('signed');
    expect(new X509Certificate(readFileSync(pair('node.crt'))).subject).toBe('CN=machine-1.internal');
  });

  it('refuses a request of another pod with the reason, and leaves no pair', async () => {
    await start();
    storeSecrets();
    server.remove('pods', 'one');
    await expect(request()).rejects.toMatchObject({ message: expect.stringContaining('pod one has ended') });
    expect(() => statSync(pair('node.crt'))).toThrow();
  });

  it('waits for an authority that another program makes', async () => {
    await start({ usesOthers: true });
    expect(Object.keys(secretFiles(names.authority))).toEqual([]);
    expect(secretFiles(names.server).secret).toBeDefined();
    await expect(request(2_000)).rejects.toMatchObject({
      message: expect.stringContaining('was not answered in 2 s'),
    });
  });
});
