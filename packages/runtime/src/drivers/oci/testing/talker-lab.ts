import { expect } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';

/**
 * Starts a program that sends data over a connection to itself, counts that, and reports the count. It ends when
 * another program gets, or no longer gets, the port of an end of it.
 */
export const startTalker = (instance: Instance) =>
  runInside(
    instance,
    `cat > /root/talker.py <<'END'
import os, socket, time
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); a, _ = s.accept()
n = 0
while True:
    assert [one.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) for one in (s, a, c)] == [1, 1, 0]
    n += 1; c.sendall(b"x"); a.recv(1)
    open("/root/new", "w").write(str(n)); os.rename("/root/new", "/root/count"); time.sleep(0.01)
END
setsid python3 /root/talker.py > /root/log 2>&1 < /dev/null & until [ -s /root/count ]; do sleep 0.05; done`,
  );

/** Expects that it continues and reports no failure. */
export const expectTalk = async (instance: Instance): Promise<void> => {
  const read = async (): Promise<string> => (await runInside(instance, 'cat /root/count /root/log')).output;
  const before = await read();
  expect(before).toMatch(/^\d+$/);
  await expect.poll(read).not.toBe(before);
  expect(await read()).toMatch(/^\d+$/);
};
