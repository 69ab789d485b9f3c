import { setTimeout as delay } from 'node:timers/promises';
import { SandboxUnavailableError } from '@skerry/sdk';
import { expect, vi } from 'vitest';
import { atEachLevel } from './attack.ts';
import { attackers } from './run-python.ts';

/** Each takes what it gets until something refuses. */
const floods = {
  processes: `
import os, time
try:
    for count in range(5000):
        if os.fork() == 0: time.sleep(60); os._exit(0)
except OSError: pass
time.sleep(60)
`,
  memory: `
held = []
while True: held.append(bytearray(b"x") * (64 << 20))
`,
  'kills of every process that it sees': `
import os
os.kill(-1, 9)
`,
} as const;

atEachLevel(({ open, server, attack }) => {
  for (const [what, program] of Object.entries(floods)) {
    attack(
      `disturbing others with ${what}`,
      {
        container: 'limits of cgroups, and a process namespace',
        gvisor: 'limits of cgroups for the sentry',
      },
      async () => {
        const bystander = await open();
        await Promise.all(
          attackers.map(async (user) => {
            const sandbox = await open();
            await sandbox.files.write('/tmp/flood.py', `print("begun", flush=True)\n${program}`);
            let printed = '';
            let hasEnded = false;
            const command = await sandbox.commands
              .run('exec python3 /tmp/flood.py', {
                user,
                background: true,
                timeoutMs: 0,
                onStdout: (text) => {
                  printed += text;
                },
              })
              .catch((error: unknown) => {
                // A flood may end the agent before that has answered to its start; any other failure is one of the test.
                if (error instanceof SandboxUnavailableError) return undefined;
                throw error;
              });
            const noteEnd = (): void => {
              hasEnded = true;
            };
            // A flood is killed, or its sandbox is: how it ends is not what is tested.
            if (command === undefined) noteEnd();
            else void command.wait().then(noteEnd, noteEnd);
            await vi.waitUntil(() => printed !== '' || hasEnded, { timeout: 60_000 });
            await delay(1_000);
            expect((await bystander.commands.run('echo here')).stdout).toBe('here\n');
            expect((await server().api.GET('/sandboxes')).response.status).toBe(200);
            await sandbox.kill();
          }),
        );
      },
    );
  }
});
