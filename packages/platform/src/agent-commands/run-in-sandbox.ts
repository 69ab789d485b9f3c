import { Code, ConnectError } from '@connectrpc/connect';
import { EDGE_ACCESS, toEdgeAccess } from '@skerry/contract/agent-access';
import { createEnvdClient, toBasic } from '@skerry/envd-client';
import type { Instance } from '@skerry/runtime';
import { createAgentFetch, MAX_ANSWER_BYTES } from './agent-fetch.ts';
import { endAllWith } from './control-calls.ts';
import { createLineReader } from './line-reader.ts';

export interface SandboxCommand {
  file: string;
  args: readonly string[];
  user: string;
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Whether its output also goes to the log of the sandbox. */
  logsOutput?: boolean;
}

/** The agent knows no user of that name. The message is the agent's. */
export class UnknownUserError extends Error {}

/** The agent does not start a command, as in a folder that is gone. The message is the agent's. */
export class RefusedCommandError extends Error {}

/** A path cannot be a folder. The message is the agent's. */
export class UnusablePathError extends Error {}

const HOME = '~';

/** What a caller can do something about. */
const toRefusal = (error: unknown): unknown => {
  if (error instanceof ConnectError && error.code === Code.Unauthenticated)
    return new UnknownUserError(error.rawMessage, { cause: error });
  if (error instanceof ConnectError && error.code === Code.InvalidArgument)
    return new RefusedCommandError(error.rawMessage, { cause: error });
  return error;
};

/** How the agent refuses such a path. */
const ofPath = [Code.InvalidArgument, Code.FailedPrecondition, Code.NotFound, Code.PermissionDenied];

/** Runs the commands of one build in its sandbox. */
export interface SandboxRunner {
  /**
   * Runs a command to its end and calls `onLine` with each line of its output. Resolves with the exit status. Rejects
   * with `UnknownUserError`, `RefusedCommandError`, the reason of `signal`, or a `ConnectError`. An abort ends the call and
   * not the command. `onStart` is called when it runs. With `endsAll` its end is that of every process of the sandbox: what it
   * has left in the background neither delays this nor runs on.
   */
  run(
    command: SandboxCommand,
    options: {
      onLine: (line: string) => void;
      onStart?: () => void;
      endsAll?: boolean;
      signal: AbortSignal;
    },
  ): Promise<number>;
  /**
   * Makes a folder of root with its parents. Resolves with whether it is new. Rejects with `UnusablePathError` when the
   * path cannot be a folder, the reason of `signal`, or a `ConnectError`.
   */
  makeFolder(path: string, options: { signal: AbortSignal }): Promise<boolean>;
  /**
   * Resolves with the path of the home of a user. Rejects with `UnknownUserError`, with `RefusedCommandError` when the home does not exist,
   * with the reason of `signal`, or with a `ConnectError`.
   */
  findHome(user: string, options: { signal: AbortSignal }): Promise<string>;
  /** Resolves with a file, read as root. Rejects when it cannot be read, and with the reason of `signal`. */
  readText(path: string, options: { signal: AbortSignal }): Promise<string>;
}

/** A runner for an instance whose agent is initialised, with that nonce if it requires a token. */
export const createSandboxRunner = (
  instance: Pick<Instance, 'connect' | 'control'>,
  { edgeNonce }: { edgeNonce?: string } = {},
): SandboxRunner => {
  const client = createEnvdClient({
    baseUrl: 'http://localhost',
    fetch: createAgentFetch(instance),
    maxMessageBytes: MAX_ANSWER_BYTES,
  });
  const toHeaders = (user: string) => ({
    // A name in it cannot have a colon, as before a group.
    Authorization: toBasic(user.replace(':', '/')),
    ...(edgeNonce !== undefined && { [EDGE_ACCESS]: toEdgeAccess('full', edgeNonce) }),
  });

  return {
    run: async (
      { file, args, user, cwd, env, logsOutput = false },
      { onLine, onStart, endsAll = false, signal },
    ) => {
      const lines = [createLineReader(onLine), createLineReader(onLine)] as const;
      const process = { cmd: file, args: [...args], envs: { ...env }, cwd };
      const request = { process, stdin: false, ...(logsOutput && { skerryLogOutput: true }) };
      const events = client.process.start(request, { signal, headers: toHeaders(user) });
      let exitCode: number | undefined;
      let ending: Promise<void> | undefined;
      try {
        for await (const { event } of events) {
          const what = event?.event;
          if (what?.case === 'start') {
            onStart?.();
            if (endsAll) ending = endAllWith(instance, what.value.pid, { signal });
            // The rejection is thrown below, where it is awaited: until then this marks it as handled.
            ending?.catch(() => undefined);
          }
          if (what?.case === 'end') ({ exitCode } = what.value);
          if (what?.case !== 'data') continue;
          const { output } = what.value;
          if (output.case === 'stdout') lines[0].add(output.value);
          if (output.case === 'stderr') lines[1].add(output.value);
        }
        await ending;
      } catch (error) {
        signal.throwIfAborted();
        throw toRefusal(error);
      }
      for (const reader of lines) reader.end();
      if (exitCode === undefined) throw new ConnectError('the command has no end', Code.Internal);
      return exitCode;
    },
    findHome: async (user, { signal }) => {
      try {
        const { entry } = await client.filesystem.stat({ path: HOME }, { signal, headers: toHeaders(user) });
        if (entry === undefined) throw new ConnectError('the home has no entry', Code.Internal);
        return entry.path;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ConnectError && error.code === Code.NotFound)) throw toRefusal(error);
        const message = `the home of the user '${user}' does not exist: name another folder by WORKDIR`;
        throw new RefusedCommandError(message, { cause: error });
      }
    },
    readText: async (path, { signal }) => {
      const { data, response } = await client.files.GET('/files', {
        params: { query: { path } },
        headers: toHeaders('root'),
        parseAs: 'text',
        signal,
      });
      if (data === undefined) throw new Error(`${path} cannot be read: ${response.status}`);
      return data;
    },
    makeFolder: async (path, { signal }) => {
      try {
        await client.filesystem.makeDir({ path }, { signal, headers: toHeaders('root') });
        return true;
      } catch (error) {
        signal.throwIfAborted();
        const { code, rawMessage } = ConnectError.from(error);
        if (code === Code.AlreadyExists) return false;
        if (ofPath.includes(code)) throw new UnusablePathError(rawMessage, { cause: error });
        throw error;
      }
    },
  };
};
