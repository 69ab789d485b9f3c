import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { stopPackets } from './packet-stop.ts';

/** A program in a network of its own that, on request, sends over a connection to itself or opens another one. */
const startTalker = async () => {
  const program = `import { connect, createServer } from 'node:net';
const server = createServer((socket) => socket.pipe(socket)).listen(9000, '127.0.0.1', () => {
  const client = connect(9000, '127.0.0.1', () => console.log('ready'));
  client.on('data', (data) => console.log('back ' + data));
  process.stdin.on('data', (line) => {
    if (String(line) === 'connect') connect(9000, '127.0.0.1', () => console.log('connected'));
    else client.write(line);
  });
});`;
  const command = 'ip link set lo up && exec "$0" --input-type=module -e "$1"';
  const child = spawn('unshare', ['--net', 'sh', '-c', command, process.execPath, program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const says = (line: string): Promise<void> => expect.poll(() => lines).toContain(line);
  await says('ready');
  return {
    pid: child.pid ?? 0,
    lines,
    says,
    tell: (text: string) => child.stdin.write(text),
    end: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      output.close();
    },
  };
};

describe('a stop of packets', () => {
  it('holds back packets until its end, which may be requested twice, and allows new connections', async () => {
    const talker = await startTalker();
    try {
      talker.tell('before');
      await talker.says('back before');
      const packets = await stopPackets(talker.pid);
      talker.tell('meanwhile');
      await sleep(300);
      expect(talker.lines).toEqual(['ready', 'back before']);
      talker.tell('connect');
      await talker.says('connected');
      await packets.end();
      await packets.end();
      await talker.says('back meanwhile');
    } finally {
      await talker.end();
    }
  });

  it('rejects for a process that has ended, and for one in the network of the host', async () => {
    const talker = await startTalker();
    await talker.end();
    await expect(stopPackets(talker.pid)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(stopPackets(process.pid)).rejects.toMatchObject({ code: 'internal' });
  });
});
