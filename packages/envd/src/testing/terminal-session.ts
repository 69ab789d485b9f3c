import { type ProcessEvent, Signal } from '@skerry/envd-client/process';
import { expect } from 'vitest';
import { byPid } from './process-requests.ts';
import type { TestAgent } from './start-agent.ts';

export const typed = (input: string | Uint8Array) => ({
  input: { case: 'pty' as const, value: typeof input === 'string' ? Buffer.from(input) : input },
});

/** A process on a terminal, its output so far, and its end. */
export class TerminalSession {
  pid = 0;
  screen = '';
  kinds = new Set<string>();
  chunkBytes: number[] = [];
  readonly ended: Promise<{ exitCode: number; status: string } | undefined>;
  readonly #agent: TestAgent;
  readonly #ready = Promise.withResolvers<void>();

  constructor(agent: TestAgent, stream: AsyncIterable<{ event?: ProcessEvent | undefined }>) {
    this.#agent = agent;
    this.ended = this.#follow(stream);
    this.ended.catch(this.#ready.reject);
  }

  static async start(
    agent: TestAgent,
    request: Parameters<ReturnType<TestAgent['processes']>['start']>[0],
  ): Promise<TerminalSession> {
    const session = new TerminalSession(agent, agent.processes().start(request));
    await session.#ready.promise;
    return session;
  }

  /** One more reader of what is on a terminal, that sees what is written from now on. */
  static async attach(agent: TestAgent, pid: number): Promise<TerminalSession> {
    const session = new TerminalSession(agent, agent.processes().connect(byPid(pid)));
    await session.#ready.promise;
    return session;
  }

  async #follow(stream: AsyncIterable<{ event?: ProcessEvent | undefined }>) {
    for await (const { event } of stream) {
      switch (event?.event.case) {
        case 'start':
          this.pid = event.event.value.pid;
          this.#ready.resolve();
          break;
        case 'data': {
          const { output } = event.event.value;
          this.kinds.add(output.case ?? 'nothing');
          this.chunkBytes.push(output.value?.length ?? 0);
          this.screen += Buffer.from(output.value ?? []).toString('latin1');
          break;
        }
        case 'end':
          return { exitCode: event.event.value.exitCode, status: event.event.value.status };
        default:
      }
    }
    return undefined;
  }

  /** Resolves when the text is on the screen, and fails with the screen when it does not get there. */
  async see(text: string): Promise<void> {
    await expect.poll(() => this.screen, { interval: 5 }).toContain(text);
  }

  async type(text: string): Promise<void> {
    await this.#agent.processes().sendInput({ ...byPid(this.pid), input: typed(text) });
  }

  async kill(): Promise<void> {
    await this.#agent.processes().sendSignal({ ...byPid(this.pid), signal: Signal.SIGKILL });
    await this.ended;
  }
}
