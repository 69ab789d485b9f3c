import { collectOutput } from './collect-output.ts';
import type { TestAgent } from './start-agent.ts';

export const sh = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] } });
export const byPid = (pid: number | undefined) => ({
  process: { selector: { case: 'pid' as const, value: pid ?? 0 } },
});
export const byTag = (tag: string) => ({ process: { selector: { case: 'tag' as const, value: tag } } });
export const stdin = (text: string) => ({ input: { case: 'stdin' as const, value: Buffer.from(text) } });

/** Reads the start event of a stream and nothing else. */
const open = async (stream: ReturnType<ReturnType<TestAgent['processes']>['start' | 'connect']>) => {
  const events = stream[Symbol.asyncIterator]();
  const event = (await events.next()).value?.event?.event;
  if (event?.case !== 'start') throw new Error(`first event is ${event?.case}`);
  return { pid: event.value.pid as number, rest: { [Symbol.asyncIterator]: () => events } };
};

/** Calls of the process service, to an agent that need not have started yet. */
export function createProcessRequests(agent: () => TestAgent) {
  return {
    /** Runs a script of the shell to its end. */
    run: (script: string) => collectOutput(agent().processes().start(sh(script))),

    /** Starts a process and returns its pid and its rest once the start event is there. */
    async begin(request: Parameters<ReturnType<TestAgent['processes']>['start']>[0]) {
      const abort = new AbortController();
      return { ...(await open(agent().processes().start(request, { signal: abort.signal }))), abort };
    },

    /** Connects to a process, and returns the same once it gets what the process writes. */
    attach: (request: Parameters<ReturnType<TestAgent['processes']>['connect']>[0]) =>
      open(agent().processes().connect(request)),
  };
}
