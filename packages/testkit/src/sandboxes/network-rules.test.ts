import { isolationLevels } from '@skerry/contract/isolation';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addresses, type OutsideLab, startOutsideLab } from '../attacks/outside.ts';

const ALL = '0.0.0.0/0';
const { internet } = addresses;

/** Prints "open" when the address accepts on port 80, else "closed". */
const probe = `python3 -c "
import socket
try: socket.create_connection(('${internet}', 80), 1).close(); print('open')
except OSError: print('closed')"`;

/** Prints a line when it is connected, then the outcome of sending after a line on its input. */
const hold = `python3 -uc "
import socket
held = socket.create_connection(('${internet}', 80), 5)
print('connected')
input()
try:
    held.sendall(b'GET / HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n')
    print('answered', len(held.recv(100)) > 0)
except ConnectionError as error: print(type(error).__name__)"`;

describe.each(isolationLevels)('rules for outgoing connections at level %s', (level) => {
  let lab: OutsideLab;
  beforeAll(async () => {
    lab = await startOutsideLab(level);
  });
  afterAll(() => lab?.[Symbol.asyncDispose]());

  const create = (network?: { allow?: string[]; deny?: string[] }): Promise<Sandbox> =>
    Sandbox.create({ ...lab.network.client.connection, network, timeoutMs: 120_000 });
  const reach = async (sandbox: Sandbox): Promise<string> =>
    (await sandbox.commands.run(probe)).stdout.trim();
  const detail = async (sandboxID: string) => {
    const { api } = lab.network.client;
    return (await api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } })).data;
  };

  it('deny addresses and ranges from the first moment, and allow some of them', async () => {
    const made = await Promise.all([
      create(),
      create({ deny: [internet] }),
      create({ deny: ['1.2.0.0/16'] }),
      create({ deny: [ALL], allow: ['1.2.3.0/24'] }),
      create({ deny: [ALL], allow: ['1.2.4.0/24'] }),
      create({ deny: ['9.9.9.9'] }),
    ]);
    expect(await Promise.all(made.map(reach))).toEqual([
      'open',
      'closed',
      'closed',
      'open',
      'closed',
      'open',
    ]);
    const [first, , , fourth] = await Promise.all(made.map(({ sandboxId }) => detail(sandboxId)));
    expect(first).toMatchObject({ allowInternetAccess: null });
    expect(first).not.toHaveProperty('network');
    expect(fourth).toMatchObject({
      allowInternetAccess: false,
      network: { allowOut: ['1.2.3.0/24'], denyOut: [ALL] },
    });
    await Promise.all(made.map((one) => one.kill()));
  });

  it('are replaced while the sandbox runs, and stay over a pause', async () => {
    await using sandbox = await create();
    expect(await reach(sandbox)).toBe('open');
    await sandbox.network.set({ deny: [internet] });
    expect(await reach(sandbox)).toBe('closed');
    expect((await sandbox.getInfo()).network).toEqual({ allow: [], deny: [internet] });
    await sandbox.pause({ memory: false });
    await expect(sandbox.network.set({})).rejects.toMatchObject({ code: 'not_found' });
    const resumed = await Sandbox.connect(sandbox.sandboxId, lab.network.client.connection);
    expect(await reach(resumed)).toBe('closed');
    await resumed.network.set({});
    expect(await reach(resumed)).toBe('open');
    expect(await resumed.getInfo()).not.toHaveProperty('network');
  });

  it('open what was closed at the create, where the level can', async () => {
    await using sandbox = await create({ deny: [ALL] });
    expect(await reach(sandbox)).toBe('closed');
    if (level === 'gvisor') {
      await expect(sandbox.network.set({})).rejects.toMatchObject({ code: 'unimplemented' });
      expect(await detail(sandbox.sandboxId)).toMatchObject({ network: { denyOut: [ALL] } });
      return;
    }
    await sandbox.network.set({ deny: [ALL], allow: [internet] });
    expect(await reach(sandbox)).toBe('open');
  });

  it('end a connection that they no longer allow', async () => {
    await using sandbox = await create();
    const lines: string[] = [];
    const command = await sandbox.commands.run(hold, {
      background: true,
      stdin: true,
      onStdout: (text) => void lines.push(text),
    });
    await expect.poll(() => lines.join('')).toContain('connected');
    await sandbox.network.set({ deny: [internet] });
    await command.sendStdin('go\n');
    if (level === 'container') await expect.poll(() => lines.join('')).toContain('ConnectionResetError');
    else {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(lines.join('')).not.toContain('answered');
    }
  });

  it('are refused with the name of the entry that is wrong', async () => {
    await using sandbox = await create();
    for (const [rules, message] of [
      [{ allow: ['api.example.com'] }, /allowOut\[0\] is a name, which needs 0\.0\.0\.0\/0/],
      [{ allow: ['1.1.1.1', '*.com'], deny: [ALL] }, /allowOut\[1\] must be a name below a domain/],
      [{ deny: ['1.1.1.1', '1.1.1.1/40'] }, /denyOut\[1\] .*CIDR/],
      [{ allow: ['10.0.0.0/8'] }, /allowOut\[0\] .*closed to every sandbox/],
      [{ allow: ['2606:4700::1111'] }, /allowOut\[0\] .*IPv6 is closed/],
    ] as const) {
      const list = {
        allow: [...('allow' in rules ? rules.allow : [])],
        deny: [...('deny' in rules ? rules.deny : [])],
      };
      for (const call of [() => create(list), () => sandbox.network.set(list)])
        await expect(call()).rejects.toMatchObject({
          code: 'invalid_argument',
          message: expect.stringMatching(message),
        });
    }
    expect(await reach(sandbox)).toBe('open');
  });
});
