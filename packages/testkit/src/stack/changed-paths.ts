import type { IsolationLevel } from '@skerry/contract/isolation';
import { MemoryNotKeptError, Sandbox } from '@skerry/sdk';
import { expect } from 'vitest';
import type { Stack } from './stack.ts';

/** A process that holds something whose path leads elsewhere, or nowhere, since it was opened. */
interface ChangedPath {
  /** Prints the pid of the process, once everything has changed. */
  begin: string;
  /** Prints `seen` while the process holds it. */
  look: (pid: string) => string;
  seen: string;
  /** What a pause is refused with at a level that does not keep it. */
  refusals: Partial<Record<IsolationLevel, string>>;
}

const inBackground = (command: string): string => `${command} > /dev/null 2>&1 &`;
const python = (program: string): string => inBackground(`python3 -c '${program}'`);
const until = (test: string): string => `until ${test}; do sleep 0.05; done`;

/** Listens at a path and greets each client. */
const greet = (path: string): string =>
  python(`import socket
s = socket.socket(1); s.bind("${path}"); s.listen()
while True:
    c, _ = s.accept(); c.sendall(b"hello"); c.close()`);
const visit = (path: string): string =>
  `python3 -c 'import socket; s = socket.socket(1); s.connect("${path}"); print(s.recv(9).decode())'`;

export const changedPaths = {
  'a working folder that was removed, and whose name is used again': {
    begin: `mkdir app; cd app; ${inBackground('sleep 1000')} cd ..; rm -rf app; mkdir app; touch app/new; echo $!`,
    look: (pid) => `ls -A /proc/${pid}/cwd/ 2>/dev/null; ls -A app; cat /proc/${pid}/comm`,
    seen: 'new\nsleep\n',
    refusals: { gvisor: 'removed_file' },
  },
  'a working folder that was moved, and whose name is used again': {
    // The process tells it: /proc of gVisor has no `cwd`.
    begin: `mkdir app; touch app/kept; cd app; ${inBackground(`sh -c 'while true; do ${until('rm ~/ask')}; (/bin/pwd; ls) > ~/next; mv ~/next ~/answer; done'`)} cd ..; mv app moved; mkdir app; touch app/other; echo $!`,
    look: () => `rm -f answer; touch ask; ${until('[ -s answer ]')}; cat answer; ls app`,
    seen: '/home/user/moved\nkept\nother\n',
    refusals: {},
  },
  'a running program that was removed, and whose name is used again': {
    begin: `cp /bin/sleep program; ${inBackground('./program 1000')} ${until('grep -q ^./program /proc/$!/cmdline')}; rm program; cp /bin/cat program; echo $!`,
    look: (pid) => `cat /proc/${pid}/comm; cmp program /bin/cat && echo other`,
    seen: 'program\nother\n',
    refusals: { gvisor: 'removed_file' },
  },
  'an open file that was removed, and whose name is used again': {
    begin: `${inBackground(`sh -c 'exec 3<>held; echo kept >&3; exec sleep 1000'`)} ${until('[ -s held ]')}; rm held; echo other > held; echo $!`,
    look: (pid) => `cat /proc/${pid}/fd/3 held`,
    seen: 'kept\nother\n',
    refusals: { gvisor: 'removed_file' },
  },
  'an open file that was moved, and whose name is used again': {
    begin: `${inBackground(`sh -c 'exec 3<>held; echo kept >&3; exec sleep 1000'`)} ${until('[ -s held ]')}; mv held moved; echo other > held; echo $!`,
    look: (pid) => `readlink /proc/${pid}/fd/3; cat /proc/${pid}/fd/3 moved held`,
    seen: '/home/user/moved\nkept\nkept\nother\n',
    refusals: {},
  },
  'a mapped file that was removed': {
    begin: `${python(`import mmap, os, time
f = open("mapped", "w+b"); f.write(b"kept" * 999); f.flush(); m = mmap.mmap(f.fileno(), 0); f.close(); os.remove("mapped"); open("removed", "w")
while True:
    time.sleep(0.05)
    if os.path.exists("ask"): os.remove("ask"); open("answer", "wb").write(m[:4])`)} ${until('[ -e removed ]')}; echo $!`,
    look: () => `rm -f answer; touch ask; ${until('[ -s answer ]')}; cat answer`,
    seen: 'kept',
    refusals: { gvisor: 'removed_file' },
  },
  'a socket that was bound by a path whose folder was moved': {
    begin: `mkdir old; ${greet('/home/user/old/socket')} ${until('[ -S old/socket ]')}; mv old new; echo $!`,
    look: () => visit('new/socket'),
    seen: 'hello\n',
    refusals: { gvisor: 'socket_file' },
  },
  'a socket that was bound over a link that was moved': {
    begin: `mkdir place; ln -s place link; ${greet('/home/user/link/socket')} ${until('[ -S place/socket ]')}; mv link other; echo $!`,
    look: () => visit('place/socket'),
    seen: 'hello\n',
    refusals: { gvisor: 'socket_file' },
  },
} as const satisfies Record<string, ChangedPath>;

/**
 * Expects that a pause, a snapshot and a fork keep it exactly, or that all are refused with its kind while everything runs on.
 */
export const expectKeptOrRefused = async (
  { connection }: Pick<Stack, 'connection'>,
  sandbox: Sandbox,
  { changed, level }: { changed: ChangedPath; level: IsolationLevel },
): Promise<void> => {
  const { begin, look, seen, refusals } = changed;
  const pid = (await sandbox.commands.run(begin)).stdout.trim();
  const expectSeen = async (one: Sandbox): Promise<void> =>
    expect((await one.commands.run(look(pid))).stdout).toBe(seen);
  await expectSeen(sandbox);
  const kind = refusals[level];
  if (kind === undefined) {
    const { snapshotId } = await sandbox.createSnapshot();
    const [fork] = await sandbox.fork();
    if (!(fork instanceof Sandbox)) throw fork;
    await sandbox.pause();
    const again = await Sandbox.connect(sandbox.sandboxId, connection);
    const copy = await Sandbox.create({ ...connection, template: snapshotId });
    for (const one of [again, fork, copy]) await expectSeen(one);
    for (const one of [fork, copy]) await one.kill();
  } else {
    for (const act of [() => sandbox.pause(), () => sandbox.createSnapshot(), () => sandbox.fork()]) {
      const refused = await act().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(MemoryNotKeptError);
      expect(refused).toMatchObject({ code: 'conflict', retryable: false, obstacle: { kind } });
      await expectSeen(sandbox);
    }
    await sandbox.commands.run(`kill ${pid}; while [ -d /proc/${pid} ]; do sleep 0.05; done`);
    await sandbox.pause();
  }
};
