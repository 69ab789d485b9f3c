import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { atEachLevel } from './attack.ts';
import { attackers, runPython } from './run-python.ts';

/** Types and protocols of socket(2) whose modules the kernel of a host would load for any user. */
const rare = {
  'SCTP, one to one': [1, 132],
  'SCTP, one to many': [5, 132],
  'SCTP by its type': [5, 0],
  DCCP: [6, 33],
  'DCCP by its type': [6, 0],
  L2TP: [2, 115],
  'UDP-Lite': [2, 136],
  'multipath TCP': [1, 262],
} as const;
const common = { TCP: [1, 0], UDP: [2, 0] } as const;

/** Opens each in IPv4 and IPv6, and prints what came of it. */
const program = `
import errno, json, socket, sys
found = {}
for name, (kind, protocol) in json.loads(sys.argv[1]).items():
    for family in (socket.AF_INET, socket.AF_INET6):
        try: socket.socket(family, kind, protocol).close(); found[name + (" 6" if family == socket.AF_INET6 else "")] = "opened"
        except OSError as error: found[name + (" 6" if family == socket.AF_INET6 else "")] = errno.errorcode.get(error.errno, str(error.errno))
print(json.dumps(found))
`;

/** The protocols that the host's kernel has: those of a module are among them once it is loaded. */
const readProtocols = (): string[] =>
  readFileSync('/proc/net/protocols', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '')
    .sort();

atEachLevel(({ level, open, attack }) => {
  attack(
    'opening a socket of SCTP, DCCP, L2TP and other internet protocols, to load a module into the kernel',
    {
      container: 'seccomp: EPROTONOSUPPORT, ESOCKTNOSUPPORT',
      gvisor: "the sentry's own network, which has none",
    },
    async () => {
      const sandbox = await open();
      const before = readProtocols();
      for (const user of attackers) {
        const found = JSON.parse(
          await runPython(sandbox, user, program, JSON.stringify({ ...rare, ...common })),
        ) as Record<string, string>;
        const outcomesOf = (kinds: object): (string | undefined)[] =>
          Object.keys(kinds).flatMap((name) => [found[name], found[`${name} 6`]]);
        expect(new Set(outcomesOf(common))).toEqual(new Set(['opened']));
        const refusals = new Set(outcomesOf(rare));
        if (level === 'container') expect(refusals).toEqual(new Set(['EPROTONOSUPPORT', 'ESOCKTNOSUPPORT']));
        else for (const refusal of refusals) expect(refusal).toMatch(/^E[A-Z]+$/);
      }
      expect(readProtocols()).toEqual(before);
    },
  );
});
