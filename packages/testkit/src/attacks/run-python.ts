import type { Sandbox } from '@skerry/sdk';

/** The users that attack inside. */
export const attackers = ['user', 'root'] as const;

/** Runs a Python program inside and resolves with what it prints, whatever its status. */
export const runPython = async (
  sandbox: Sandbox,
  user: (typeof attackers)[number],
  program: string,
  argument = '',
): Promise<string> => {
  const path = `/tmp/attack-${user}.py`;
  await sandbox.files.write(path, program, { user });
  const command = `python3 ${path} '${argument}' 2>/tmp/attack-${user}.log; true`;
  return (await sandbox.commands.run(command, { user, timeoutMs: 60_000 })).stdout;
};
