import { Code } from '@connectrpc/connect';
import type { EnvdClient } from '@skerry/envd-client';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { runScript, sh, trace } from './process-events.ts';
import { postStream } from './raw-stream.ts';

const envVars = {
  GREETING: 'hi',
  E2B_SANDBOX: 'no',
  E2B_SANDBOX_ID: 'no',
  E2B_TEMPLATE_ID: 'no',
  SKERRY_CPU_COUNT: '64',
  SKERRY_MEMORY_MB: '65536',
  LOGNAME: 'other',
};
const ok = { exitCode: 0, exited: true, status: 'exit status 0' };

testAgents(
  (agent) => {
    const asRoot = () => agent.clientOf({ user: 'root' });

    describe('Start', () => {
      it('rule 6.2-2: Start streams start, the output of both kinds and the end of what it starts', async () => {
        const { kinds, stdout, stderr, end } = await runScript(
          agent.client,
          'echo out; sleep 0.1; echo err >&2; exit 3',
        );
        expect([kinds, stdout, stderr]).toEqual([['stdout', 'stderr', 'end'], 'out\n', 'err\n']);
        expect(end).toEqual({ exitCode: 3, exited: true, status: 'exit status 3', error: 'exit status 3' });
      });

      it('rule 6.3-1: Start runs an argument list as it is, through no shell', async () => {
        const args = ['%s|', '$HOME', '*', 'a b', '', ';ls', '"'];
        const { stdout } = await trace(agent.client.process.start({ process: { cmd: 'printf', args } }));
        expect(stdout).toBe('$HOME|*|a b||;ls|"|');
        const shell = { cmd: '/bin/bash', args: ['-l', '-c', 'shopt -q login_shell && echo login'] };
        expect((await trace(agent.client.process.start({ process: shell }))).stdout).toBe('login\n');
      });

      it('rule 6.3-6, 10-32: a missing program answers start, a line on stderr and exit code 127, one that is not executable 126, and the call succeeds', async () => {
        const missing = await trace(agent.client.process.start({ process: { cmd: 'no-such-program' } }));
        expect(missing.kinds).toEqual(['stderr', 'end']);
        expect(missing.stderr).toBe('no-such-program: command not found\n');
        expect(missing.end).toMatchObject({ exitCode: 127, exited: true, status: 'exit status 127' });
        const absolute = await trace(agent.client.process.start({ process: { cmd: '/no/such/program' } }));
        expect(absolute).toMatchObject({
          kinds: ['stderr', 'end'],
          stderr: '/no/such/program: No such file or directory\n',
          end: { exitCode: 127 },
        });
        await agent.files.write('/tmp/no-program', 'x');
        const refused = await trace(agent.client.process.start({ process: { cmd: '/tmp/no-program' } }));
        expect(refused).toMatchObject({
          kinds: ['stderr', 'end'],
          stderr: '/tmp/no-program: Permission denied\n',
          end: { exitCode: 126 },
        });
        const onTerminal = { process: { cmd: 'no-such-program' }, pty: { size: { cols: 80, rows: 24 } } };
        expect(await trace(agent.client.process.start(onTerminal))).toMatchObject({
          kinds: ['pty', 'end'],
          end: { exitCode: 127 },
        });
      });

      it('rule 10-32: the exit code 0 is left out of JSON, and a signal is -1 in it', async () => {
        const lastOf = async (script: string): Promise<unknown> => {
          const messages = [sh(script)];
          const { envelopes } = await postStream(agent.rpc, {
            procedure: 'process.Process/Start',
            messages,
          });
          return envelopes.at(-2)?.json;
        };
        expect(await lastOf('true')).toEqual({ event: { end: { exited: true, status: 'exit status 0' } } });
        const killed = 'signal: killed';
        expect(await lastOf('kill -KILL $$')).toEqual({
          event: { end: { exitCode: -1, status: killed, error: killed, skerrySignal: 9 } },
        });
      });

      it.each(['json', 'binary'] as const)(
        'rule 10-36: a process is started, fed and read in the %s codec',
        async (codec) => {
          const client = agent.clientOf({ codec });
          const { stdout, stderr, end } = await runScript(client, 'printf "a\\0\\377ä"; echo e >&2; exit 1');
          expect([stdout, stderr, end?.exitCode]).toEqual(['a\0\ufffdä', 'e\n', 1]);
        },
      );
    });

    describe('the environment of a process', () => {
      const environment = async (client: EnvdClient, envs: Record<string, string> = {}) => {
        const { stdout } = await trace(client.process.start({ process: { cmd: 'env', envs } }));
        return Object.fromEntries(
          stdout
            .trimEnd()
            .split('\n')
            .map((line) => line.split('=', 2)),
        );
      };

      it('rule 6.3-2: it is the PATH of the agent, then the user, then the sandbox, then the request, without SHELL and TERM', async () => {
        const found = await environment(agent.client);
        expect(Object.keys(found).toSorted()).toEqual(
          [
            'PATH',
            'HOME',
            'USER',
            'LOGNAME',
            'GREETING',
            'E2B_SANDBOX',
            'E2B_SANDBOX_ID',
            'E2B_TEMPLATE_ID',
            'SKERRY_CPU_COUNT',
            'SKERRY_MEMORY_MB',
          ].toSorted(),
        );
        expect(found.PATH).toContain('/usr/bin');
        expect(found).toMatchObject({ HOME: '/home/user', USER: 'user', LOGNAME: 'other', GREETING: 'hi' });
        expect(await environment(asRoot())).toMatchObject({ HOME: agent.rootHome, USER: 'root' });
        const requested = {
          PATH: '/usr/bin:/x',
          HOME: '/h',
          LOGNAME: 'l',
          GREETING: 'ho',
          TERM: 'dumb',
          SHELL: '/s',
        };
        expect(await environment(agent.client, requested)).toMatchObject(requested);
      });

      it('rule 6.3-3: the variables of the agent override those of the sandbox, and the request overrides both', async () => {
        const found = await environment(agent.client);
        expect(found).toMatchObject({ E2B_SANDBOX: 'true', E2B_SANDBOX_ID: agent.sandboxId });
        expect(found.E2B_TEMPLATE_ID).not.toBe('no');
        expect(found).toMatchObject({ SKERRY_CPU_COUNT: '2', SKERRY_MEMORY_MB: '1024' });
        const own = {
          E2B_SANDBOX: 'false',
          E2B_SANDBOX_ID: 'mine',
          E2B_TEMPLATE_ID: 'yours',
          SKERRY_CPU_COUNT: '1',
          SKERRY_MEMORY_MB: '512',
        };
        expect(await environment(agent.client, own)).toMatchObject(own);
      });
    });

    describe('the user and the directory of a process', () => {
      it('rule 6.3-4: a process has the ids and the supplementary groups of its user', async () => {
        await agent.run(
          'grep -q ^extra: /etc/group || { groupadd -g 2001 extra && usermod -aG extra user; }',
        );
        const ids =
          'id -un; id -gn; id -Gn | tr " " "\\n" | sort | xargs; grep -E "^(Uid|Gid):" /proc/self/status';
        const { stdout } = await runScript(agent.client, ids);
        const [name, group, groups, uids, gids] = stdout.split('\n');
        expect([name, group]).toEqual(['user', 'user']);
        expect(groups?.split(' ')).toEqual(expect.arrayContaining(['user', 'extra']));
        expect([uids, gids]).toEqual(['Uid:\t1000\t1000\t1000\t1000', 'Gid:\t1000\t1000\t1000\t1000']);
        expect((await runScript(asRoot(), 'id -u; id -Gn')).stdout).toBe('0\nroot\n');
      });

      it('rule 6.3-5: cwd is read like any path, is home when absent, and is refused when missing or closed to the user', async () => {
        const pwd = async (cwd?: string, client = agent.client): Promise<string> => {
          const process = { cmd: 'pwd', ...(cwd === undefined ? {} : { cwd }) };
          return (await trace(client.process.start({ process }))).stdout.trimEnd();
        };
        await runScript(agent.client, 'mkdir -p ~/sub');
        expect([
          await pwd(),
          await pwd(''),
          await pwd('sub'),
          await pwd('~/sub'),
          await pwd('~'),
          await pwd('/usr'),
        ]).toEqual(['/home/user', '/home/user', '/home/user/sub', '/home/user/sub', '/home/user', '/usr']);
        expect(await pwd(undefined, asRoot())).toBe(agent.rootHome);
        for (const cwd of ['/no/such', '/etc/hostname', '/root', '~root']) {
          await expect(pwd(cwd)).rejects.toMatchObject({ code: Code.InvalidArgument });
        }
        await expect(pwd('/no/such')).rejects.toThrow('/no/such');
        expect(await pwd(agent.rootHome, asRoot())).toBe(agent.rootHome);
      });

      it('rule 6.3-5: an absent cwd is the default directory where one is set, and a relative one is below the home directory', async () => {
        const other = await agent.another({ defaultWorkdir: '/tmp/workdir' });
        await other.client.filesystem.makeDir({ path: '/tmp/workdir' });
        await other.client.filesystem.makeDir({ path: '~/sub' });
        expect(await other.run('pwd', 'user')).toBe('/tmp/workdir\n');
        const process = { cmd: 'pwd', cwd: 'sub' };
        expect((await trace(other.client.process.start({ process }))).stdout).toBe('/home/user/sub\n');
        await other.end();
      });
    });

    describe('the standard input of a process', () => {
      it('rule 6.2-9, 6.3-7: it is open by default, and /dev/null when stdin is false', async () => {
        const where = sh('readlink /proc/self/fd/0; timeout 0.3 cat; echo $?');
        const open = await trace(agent.client.process.start(where));
        expect(open.stdout).toMatch(/^pipe:\[\d+\]\n124\n$/);
        expect((await trace(agent.client.process.start({ ...where, stdin: true }))).stdout).toMatch(
          /^pipe:.*\n124\n$/,
        );
        const off = await trace(agent.client.process.start({ ...where, stdin: false }));
        expect([off.stdout, off.end]).toEqual(['/dev/null\n0\n', ok]);
      });
    });
  },
  { envVars },
);
