import { Sandbox } from '@skerry/sdk';
import { expect } from 'vitest';
import { fetchByHost } from './fetch-by-host.ts';
import type { Stack } from './stack.ts';

const program = `import socket
s = socket.create_server(("127.0.0.1", 8000)); open("/tmp/up", "w"); kept = []
while True:
    c, _ = s.accept(); kept.append(c); c.recv(9999); c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")`;

/** Expects that a server inside that answers its visitors, and never closes their connections, prevents no pause. */
export const expectVisitsToEnd = async (
  { connection }: Pick<Stack, 'connection'>,
  sandbox: Sandbox,
): Promise<void> => {
  await sandbox.files.write('/tmp/server.py', program);
  await sandbox.commands.run(
    'python3 /tmp/server.py > /dev/null 2>&1 & until [ -e /tmp/up ]; do sleep 0.1; done',
  );
  for (let round = 0; round < 2; round++) {
    const visits = [1, 2, 3].map(() => fetchByHost(`${sandbox.getUrl(8000)}/`));
    for (const visit of await Promise.all(visits)) expect(visit.status).toBe(200);
    await sandbox.pause();
    await Sandbox.connect(sandbox.sandboxId, connection);
  }
};
