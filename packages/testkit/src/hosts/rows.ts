import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Guest } from './guest.ts';
import type { GuestResult } from './guest-channel.ts';

/** What a row does in a guest. */
export interface LabRow {
  name: string;
  /** What it shows, for people. */
  shows: string;
  /** The minutes after which it has failed. */
  minutes: number;
  /** Only when it is named: it takes hours. */
  onRequest?: boolean;
  /** Part of the short form. */
  short?: boolean;
  /** Resolves with a note for the table; rejects with what went wrong. */
  run(guest: Guest, options: { timeoutMs: number }): Promise<string>;
}

const entry = ['/opt/skerry/bin/node', '--no-warnings', '/opt/skerry/guest/main.ts'];
const environments: Record<string, Record<string, string>> = {
  root: { SKERRY_IMAGES_DIR: '/opt/skerry/images' },
  lab: { SKERRY_IMAGES_DIR: '/home/lab/images' },
};

/** Runs a check inside, as one who has logged in, and resolves with the last line of what it printed. */
async function check(guest: Guest, name: string, timeoutMs: number, user = 'root'): Promise<string> {
  const env = environments[user] ?? {};
  return toNote(name, timeoutMs, await guest.login(user, [...entry, name], { timeoutMs, env }));
}

function toNote(name: string, timeoutMs: number, { status, output }: GuestResult): string {
  if (status === 0) return output.trim().split('\n').at(-1) ?? '';
  const how =
    status === 1
      ? ''
      : ` (${status === null ? `no end in ${timeoutMs / 60_000} minutes` : `status ${status}`})`;
  throw new Error(`${name} failed${how}\n${output.trim()}`);
}

const checksDir = join(import.meta.dirname, 'guest');
const writeFile =
  'import os, sys; os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True); open(sys.argv[1], "w").write(sys.argv[2])';

/** Hands the guest the programs of the rows, and lets it note what there is before skerry was ever started. */
export async function prepareGuest(guest: Guest): Promise<void> {
  for (const name of readdirSync(checksDir).filter((entry) => entry.endsWith('.ts'))) {
    const text = readFileSync(join(checksDir, name), 'utf8');
    await guest.run(['python3', '-c', writeFile, `/opt/skerry/guest/${name}`, text]);
  }
  await check(guest, 'baseline', guest.commandMs);
}

/** Takes down what a failed row has left. False when something stays, so that no other row can use the guest. */
export async function resetGuest(guest: Guest): Promise<boolean> {
  try {
    for (const user of ['lab', 'root']) await check(guest, 'reset', guest.commandMs, user);
    return true;
  } catch {
    return false; // The failure itself has been shown; this is only what follows from it.
  }
}

/** A row that is one check, of the same name, as root. */
const asRoot = (row: Omit<LabRow, 'run'>): LabRow => ({
  ...row,
  run: (guest, { timeoutMs }) => check(guest, row.name, timeoutMs),
});

/** A row that is one check, of the same name, as an ordinary user with a manager that outlives sessions. */
const asUser = (row: Omit<LabRow, 'run'>): LabRow => ({
  ...row,
  async run(guest, { timeoutMs }) {
    const prepared = await guest.run(['test', '-e', '/home/lab/images']);
    if (prepared.status !== 0) await check(guest, 'user-prepare', timeoutMs);
    return check(guest, row.name, timeoutMs, 'lab');
  },
});

/** The rows of the table, in the order in which they are run. */
export const labRows: readonly LabRow[] = [
  asRoot({ name: 'boot', shows: 'the guest boots, and no unit fails', minutes: 10, short: true }),
  asRoot({ name: 'doctor', shows: '`skerry doctor` exits with 0', minutes: 10 }),
  asRoot({ name: 'up', shows: 'the first start, with the proof of memory', minutes: 10, short: true }),
  asRoot({ name: 'create', shows: 'create, exec, a terminal, upload, download', minutes: 6, short: true }),
  asRoot({ name: 'limits', shows: 'limits of cpu, memory, processes, disk', minutes: 12 }),
  asRoot({ name: 'socket-memory', shows: 'data that waits in sockets counts as memory', minutes: 8 }),
  asRoot({ name: 'egress', shows: 'public addresses are reached, others are not', minutes: 8 }),
  asRoot({ name: 'memory', shows: 'pause with memory, resume, then work in it', minutes: 8, short: true }),
  asRoot({ name: 'fork', shows: 'fork, then work in the copies', minutes: 10, short: true }),
  asRoot({ name: 'snapshot', shows: 'create from snapshots, then work in what was made', minutes: 12 }),
  asRoot({ name: 'kill-server', shows: '`kill -9` of the server, and its next start', minutes: 8 }),
  asRoot({ name: 'kill-helper', shows: '`kill -9` of the helper', minutes: 8 }),
  {
    name: 'reboot',
    shows: 'a reboot with a running and a paused sandbox',
    minutes: 20,
    async run(guest, { timeoutMs }) {
      await check(guest, 'reboot-prepare', timeoutMs / 3);
      await guest.reboot();
      return check(guest, 'reboot', timeoutMs / 3);
    },
  },
  asRoot({ name: 'down', shows: '`skerry down` leaves nothing', minutes: 8, short: true }),
  asRoot({ name: 'service', shows: 'as a service of systemd', minutes: 25 }),
  asRoot({ name: 'service-delegate', shows: 'as a service with `Delegate=yes`', minutes: 25 }),
  asRoot({ name: 'gvisor', shows: 'level `gvisor`: create, pause, resume, fork', minutes: 25 }),
  asUser({ name: 'rootless', shows: 'as an ordinary user: create, exec, pause of files', minutes: 20 }),
  asUser({
    name: 'rootless-limits',
    shows: 'as an ordinary user: limits of cpu, memory, processes',
    minutes: 12,
  }),
  asUser({ name: 'rootless-down', shows: 'as an ordinary user: `skerry down` leaves nothing', minutes: 10 }),
  {
    name: 'no-user-namespaces',
    shows: '`user.max_user_namespaces=0` is refused clearly',
    minutes: 10,
    async run(guest, { timeoutMs }) {
      const set = async (count: string) => {
        const { status, output } = await guest.run([
          'sysctl',
          '-q',
          '-w',
          `user.max_user_namespaces=${count}`,
        ]);
        if (status !== 0) throw new Error(`the setting could not be made: ${output}`);
      };
      const { output: usual } = await guest.run(['sysctl', '-n', 'user.max_user_namespaces']);
      await set('0');
      try {
        return await check(guest, 'no-user-namespaces', timeoutMs, 'lab');
      } finally {
        await set(usual.trim());
      }
    },
  },
  {
    name: 'drivers',
    shows: 'the suite of the drivers',
    minutes: 600,
    onRequest: true,
    async run(guest, { timeoutMs }) {
      const script = `mkdir -p /var/checkout && mount LABEL=checkout /var/checkout && cd /var/checkout &&
        PATH=$PWD/node_modules/.bin:$PATH exec vitest run --project drivers --reporter=dot`;
      const env = { ...environments.root, SKERRY_TEST_PATIENCE: '20', NO_COLOR: '1' };
      return toNote(
        'drivers',
        timeoutMs,
        await guest.login('root', ['sh', '-c', script], { timeoutMs, env }),
      );
    },
  },
];
