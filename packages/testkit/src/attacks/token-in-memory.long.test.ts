import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { expect } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { atEachLevel } from './attack.ts';

const SCAN = readFileSync(join(import.meta.dirname, 'read-memory.py'), 'utf8');
/** A variable of the sandbox, which its agent knows: a search that misses it proves nothing. */
const MARKER = 'f00d'.repeat(8);

interface Memory {
  /** The processes that have each secret, by the name of the secret. */
  found: Record<string, string[]>;
  nonces: string[];
  names: string[];
  sizeBytes: number;
}

const STOPPED_BY = 'the edge, which keeps tokens and signatures and sends a nonce of the run in their place';

atEachLevel(({ level, server, attack }) => {
  const tokenOf = async ({ sandboxId }: Sandbox): Promise<string> => {
    const { data } = await server().api.GET('/sandboxes/{sandboxID}', {
      params: { path: { sandboxID: sandboxId } },
    });
    return data?.envdAccessToken ?? '';
  };

  /** Uses a sandbox in each way that a caller can be authorised; resolves with the signature of a link. */
  const use = async (sandbox: Sandbox): Promise<string> => {
    await sandbox.files.write('/home/user/note', 'text');
    expect((await sandbox.commands.run('cat note')).stdout).toBe('text');
    const link = await sandbox.downloadUrl('/home/user/note');
    expect((await fetchByHost(link)).text).toBe('text');
    return new URL(link).searchParams.get('signature') ?? '';
  };
  const create = async (template?: string): Promise<Sandbox> =>
    Sandbox.create({
      ...server().connection,
      timeoutMs: 300_000,
      envs: { MARKER },
      ...(template && { template }),
    });

  const search = async (sandbox: Sandbox, secrets: Record<string, string> = {}): Promise<Memory> => {
    await sandbox.files.write('/tmp/scan.py', SCAN);
    const halves = Object.entries({ ...secrets, MARKER }).map(([name, text]) => {
      const middle = Math.floor(text.length / 2);
      return [name, [text.slice(0, middle), text.slice(middle)]];
    });
    const command = `python3 /tmp/scan.py '${JSON.stringify(Object.fromEntries(halves))}'`;
    const { stdout } = await sandbox.commands.run(command, { user: 'root', timeoutMs: 120_000 });
    return JSON.parse(stdout) as Memory;
  };
  /** Expects that the whole memory was read, and that of all secrets only the marker is there. */
  const expectNone = async (sandbox: Sandbox, secrets: Record<string, string>): Promise<void> => {
    const { found, names, sizeBytes } = await search(sandbox, secrets);
    const { MARKER: marked, ...others } = found;
    expect(marked).not.toEqual([]);
    // The first process and the agent.
    expect(names).toEqual(
      expect.arrayContaining([expect.stringMatching(/^1 /), expect.stringMatching(/^2 /)]),
    );
    expect(sizeBytes).toBeGreaterThan(10 << 20);
    expect(others).toEqual(Object.fromEntries(Object.keys(secrets).map((name) => [name, []])));
  };
  /** What a program inside is answered by the agent of its own sandbox. */
  const askInside = async (sandbox: Sandbox, nonce: string): Promise<string> => {
    const url = 'http://127.0.0.1:49983/envs';
    const command = `curl -s -o /dev/null -w '%{http_code}' -H 'X-Skerry-Access: full ${nonce}' ${url}`;
    return (await sandbox.commands.run(command, { user: 'root' })).stdout;
  };
  /** The nonce of the run, as root inside finds it. */
  const findNonce = async (sandbox: Sandbox): Promise<string> => {
    for (const nonce of (await search(sandbox)).nonces)
      if ((await askInside(sandbox, nonce)) === '200') return nonce;
    throw new Error('the agent was sent no nonce');
  };
  /** What a client outside is answered that sends a nonce in place of a token. */
  const askOutside = async ({ sandboxId }: Sandbox, nonce: string): Promise<string> => {
    const url = `http://49983-${sandboxId}.${server().address.domain}/envs`;
    const headers = { 'x-skerry-access': `full ${nonce}` };
    return String((await fetchByHost(url, { headers })).status);
  };

  attack(
    'reading the tokens of source and copy, or a signature, in the memory of a fork',
    STOPPED_BY,
    async () => {
      const source = await create();
      const signature = await use(source);
      const [copy] = await source.fork({ timeoutMs: 300_000 });
      if (!(copy instanceof Sandbox)) throw copy ?? new Error('no copy was made');
      await use(copy);
      const encoded = encodeURIComponent(signature);
      const secrets = { source: await tokenOf(source), own: await tokenOf(copy), signature, encoded };
      expect(secrets.source).not.toBe(secrets.own);
      await expectNone(copy, secrets);
      await expectNone(source, secrets);
      await Promise.all([source.kill(), copy.kill()]);
    },
  );

  attack('reading tokens in the memory of a sandbox from a snapshot with memory', STOPPED_BY, async () => {
    const source = await create();
    const signature = await use(source);
    const { snapshotId } = await source.createSnapshot({ name: `memory-${level}` });
    const copy = await create(snapshotId);
    await use(copy);
    await expectNone(copy, { source: await tokenOf(source), own: await tokenOf(copy), signature });
    await Promise.all([source.kill(), copy.kill()]);
  });

  attack('reading its own token in the memory of a resumed sandbox', STOPPED_BY, async () => {
    const sandbox = await create();
    const own = await tokenOf(sandbox);
    const signature = await use(sandbox);
    await sandbox.pause();
    const resumed = await Sandbox.connect(sandbox.sandboxId, server().connection);
    await use(resumed);
    expect(await tokenOf(resumed)).toBe(own);
    await expectNone(resumed, { own, signature });
    await resumed.kill();
  });

  attack(
    'using the nonce of one run for another, or from outside',
    'a nonce for each run, which the edge takes from no client',
    async () => {
      const source = await create();
      await use(source);
      const nonce = await findNonce(source);
      expect(await askOutside(source, nonce)).toBe('401');
      const [copy] = await source.fork({ timeoutMs: 300_000 });
      if (!(copy instanceof Sandbox)) throw copy ?? new Error('no copy was made');
      expect([await askInside(copy, nonce), await askOutside(copy, nonce)]).toEqual(['401', '401']);
      expect(await askOutside(source, nonce)).toBe('401');
      expect(await askInside(source, nonce)).toBe('200');

      // No way leads around the edge: the port of the source is closed to the copy.
      const { stdout: address } = await source.commands.run("hostname -I | tr -d ' \\n'");
      const knock = (from: Sandbox) =>
        from.commands
          .run(`curl -s -o /dev/null -w '%{http_code}' -m 2 http://${address}:49983/health || true`)
          .then(({ stdout }) => stdout);
      expect([await knock(source), await knock(copy)]).toEqual(['204', '000']);

      await source.pause();
      const resumed = await Sandbox.connect(source.sandboxId, server().connection);
      expect([await askInside(resumed, nonce), await askOutside(resumed, nonce)]).toEqual(['401', '401']);
      const next = await findNonce(resumed);
      expect(next).not.toBe(nonce);
      await Promise.all([resumed.kill(), copy.kill()]);
    },
  );
});
