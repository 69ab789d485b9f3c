import { collectOutput } from './collect-output.ts';
import type { TestAgent } from './start-agent.ts';

export const sh = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] } });
export const byPid = (pid: number | undefined) => ({
  process: { selector: { case: 'pid' as const, value: pid ?? 0 } },
});
export const byTag = (tag: string) => ({ process: { selector: { case: 'tag' as const, value: tag } } });
export const stdin = (text: string) => ({ input: { case: 'stdin' as const, value: Buffer.from(text) } });

/** Calls of the process service, to an agent that need not have started yet. */
export function createProcessRequests(agent: () => TestAgent) {
  return {
    /** Runs a script of the shell to its end. */
    run: (script: string) => collectOutput(agent().processes().start(sh(script))),

    /** Starts a process and returns its pid and its rest once the start event is there. */
    async begin(request: Parameters<ReturnType<TestAgent['processes']>['start']>[0]) {
      const abort = new AbortController();
      const stream = agent().processes().start(request, { signal: abort.signal })[Symbol.asyncIterator]();
      const first = await stream.next();
      const event = first.value?.event?.event;
      if (event?.case !== 'start') throw new Error(`first event is ${event?.case}`);
      return { pid: event.value.pid as number, rest: { [Symbol.asyncIterator]: () => stream }, abort };
    },
  };
}
