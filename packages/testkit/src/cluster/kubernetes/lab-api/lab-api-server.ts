import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestApiServer } from '@skerry/platform/kubernetes-server';

type Method = 'put' | 'get' | 'stop' | 'restart';

/** An API server on a machine of a network lab. */
export interface LabApiServer {
  call<M extends Method>(
    method: M,
    ...given: Parameters<TestApiServer[M]>
  ): Promise<ReturnType<TestApiServer[M]>>;
  close(): Promise<void>;
}

const program = new URL('./main.ts', import.meta.url).pathname;

/** Starts it by the command that leads to that machine, and writes a kubeconfig for programs there. */
export const startLabApiServer = async (
  through: readonly string[],
  kubeconfig: string,
): Promise<LabApiServer> => {
  const [file, ...before] = [...through, process.execPath];
  const child = spawn(file as string, [...before, program, kubeconfig], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const read = async (): Promise<unknown> => {
    const [line] = (await once(lines, 'line')) as [string];
    return (JSON.parse(line) as { result?: unknown }).result;
  };
  await read();
  return {
    call: async (...words) => {
      const result = read();
      child.stdin.write(`${JSON.stringify(words)}\n`);
      return (await result) as never;
    },
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
};
