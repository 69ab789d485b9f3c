import { isolationLevels } from '@skerry/contract/isolation';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { type InstalledProgram, installPackages } from './install-packages.ts';

/** What a program has whose package sets the setuid bit, as setcap failed. */
const setuid = { mode: '4755', effective: expect.any(String) };
/** The bit of net_bind_service in linux/capability.h, alone. */
const able: InstalledProgram = { mode: '755', effective: '400' };

describe.each(isolationLevels)('a sandbox of the template base at level %s', (level) => {
  let stack: SharedStack;
  beforeAll(async () => {
    stack = await joinStack({ level });
  });
  afterAll(() => stack.leave());

  it('installs packages that link to manuals and give programs capabilities, and the programs start', async () => {
    const { sandboxId } = await stack.createSandbox();
    const sandbox = await Sandbox.connect(sandboxId, stack.connection);
    expect(await installPackages(sandbox)).toEqual({
      manuals: ['/etc/hostname', '/etc/hosts'],
      raw: setuid,
      bind: level === 'container' ? able : setuid,
    });
  });

  it('lets root become its user', async () => {
    const { sandboxId } = await stack.createSandbox();
    const sandbox = await Sandbox.connect(sandboxId, stack.connection);
    const su = await sandbox.commands.run('su user -c id < /dev/null', { user: 'root' });
    expect(su.stdout).toContain('uid=1000(user)');
  });

  it('refuses a capability with which a program would not start, and says so', async () => {
    const { sandboxId } = await stack.createSandbox();
    const sandbox = await Sandbox.connect(sandboxId, stack.connection);
    const { stdout } = await sandbox.commands.run(
      'cp /bin/true .; for set in cap_chown=ep cap_net_raw+p all+ep; do setcap $set true 2>&1; echo $?; done; ./true',
      { user: 'root' },
    );
    expect(stdout).toBe(
      level === 'container'
        ? '0\n0\nsetcap: a program with all+ep could not start here\n1\n'
        : "Failed to set capabilities on file 'true': Operation not supported\n1\n".repeat(3),
    );
  });
});
