import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { signalProcess } from '../../../../kernel/signal-process.ts';
import { runInside } from '../../../../suite/client.ts';
import { toSandboxFolder } from '../../folder.ts';
import { readHost } from '../../host.ts';
import { useOci } from '../../testing/oci-fixture.ts';

const { create, dataDir, criuDir, toId } = useOci({ name: 'waiting', memory: true });

describe('a connection that was closed before it was accepted', () => {
  it('to the agent does not prevent a pause with memory', async () => {
    const instance = await create();
    const { guest } = toSandboxFolder(dataDir, instance.id);
    const members = await readHost({ dataDir, criuDir }).cgroup(instance.id).members();
    for (const act of [
      () => instance.snapshot({ id: toId(), memory: true }),
      () => instance.pause({ memory: true }),
    ]) {
      for (const pid of members) signalProcess(pid, 'SIGSTOP');
      for (let count = 0; count < 200; count++) {
        const socket = connect(`${guest}/http.sock`);
        await once(socket, 'connect');
        socket.destroy();
      }
      await act();
    }
    await instance.resume();
    expect((await runInside(instance, 'echo here')).output).toBe('here\n');
  });

  it('to a program that accepts none prevents a pause with memory as long as it waits', async () => {
    const instance = await create();
    const program = `import os, socket, time
s = socket.socket(socket.AF_UNIX); s.bind("/root/socket"); s.listen(4096)
# More than fit into the kernel's shortest message.
for _ in range(1500): c = socket.socket(socket.AF_UNIX); c.connect("/root/socket"); c.sendall(b"x"); c.close()
open("/root/ready", "w").write("x")
while not os.path.exists("/root/go"): time.sleep(0.02)
for _ in range(1500): a, _ = s.accept()
open("/root/new", "w").write(a.recv(1).decode()); os.rename("/root/new", "/root/got"); time.sleep(1000)`;
    await runInside(
      instance,
      `cat > /root/late.py <<'END'
${program}
END
setsid python3 /root/late.py > /root/log 2>&1 < /dev/null & until [ -s /root/ready ]; do sleep 0.05; done`,
    );
    const refused = {
      code: 'blocked',
      obstacle: { kind: 'pending_connection', process: { command: 'python3' } },
    };
    await expect(instance.pause({ memory: true })).rejects.toMatchObject(refused);
    expect(await instance.state()).toBe('running');
    const accept = 'touch /root/go; until [ -s /root/got ]; do sleep 0.05; done; cat /root/got';
    expect((await runInside(instance, accept)).output).toBe('x');
    await instance.pause({ memory: true });
    await instance.resume();
    expect((await runInside(instance, 'cat /root/got /root/log')).output).toBe('x');
  });
});
