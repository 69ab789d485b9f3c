import type { AttackRow } from '@skerry/runtime/testing';
import { type Attempt, toLevelTraits, tryHostile } from '@skerry/runtime/testing';
import { expect } from 'vitest';
import { atEachLevel } from './attack.ts';
import { attackers, runPython } from './run-python.ts';

/** Attempts of one kind are one line of the table. */
const toKind = ({ name }: Attempt): string => {
  if (name.startsWith('call ') && name !== 'call a socket of the host')
    return 'calling a system call that no program needs';
  if (name.startsWith('look at ')) return 'looking at files of /proc and /sys that show the host';
  if (name.startsWith('write to /proc')) return 'writing to settings of the kernel';
  if (/^open a .* socket$/.test(name)) return 'opening a socket of a rare kind';
  if (/^make a .* namespace$/.test(name)) return 'making a namespace';
  return name.replace(/^(\w+)/, (verb) => gerunds[verb] ?? verb);
};

const gerunds: Readonly<Record<string, string>> = {
  be: 'being',
  call: 'calling',
  end: 'ending',
  find: 'finding',
  leave: 'leaving',
  mount: 'mounting',
  open: 'opening',
  read: 'reading',
  see: 'seeing',
  trace: 'tracing',
  write: 'writing',
};

const toAnswer = ({ answer, name, succeeded }: Attempt): string => {
  if (succeeded) return `${name}: only in the sentry`;
  if (answer.startsWith('refused')) return answer;
  return answer === '' || answer === 'held' || answer === 'sent'
    ? 'nothing there'
    : 'only what is inside is there';
};

const toRows = (attempts: readonly Attempt[]): Omit<AttackRow, 'place'>[] => {
  const kinds = Map.groupBy(attempts, toKind);
  return [...kinds].map(([attack, found]) => ({
    attack,
    stoppedBy: [...new Set(found.map(toAnswer))].sort().join(', '),
  }));
};

atEachLevel(({ level, open, attack }) => {
  attack(
    'reaching the host, its kernel or its processes with each of many means, as a user and as root',
    { container: 'seccomp, namespaces, masked files, no capabilities', gvisor: "the sentry's own kernel" },
    async (report) => {
      const { letsThrough } = toLevelTraits({ level });
      let attempts: Attempt[] = [];
      for (const user of attackers) {
        // Each attacker has a sandbox of its own: what the program leaves would stop the next one.
        const sandbox = await open();
        attempts = await tryHostile((program, argument) => runPython(sandbox, user, program, argument), {
          exceedsLimits: false,
        });
        const through = attempts.filter(({ succeeded }) => succeeded).map(({ name }) => name);
        // What succeeds affects the sandbox's own kernel alone; a user may do no more of it than root.
        if (user === 'root') expect(through).toEqual([...letsThrough]);
        else expect(through.filter((name) => !letsThrough.includes(name))).toEqual([]);
      }
      for (const row of toRows(attempts)) report(row);
    },
  );
});
