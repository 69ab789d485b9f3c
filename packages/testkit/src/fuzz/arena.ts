import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import { Signal } from '@skerry/envd-client/process';
import type { Stack } from '../stack/stack.ts';
import { type StackSandbox, toRouting } from '../stack/stack-client.ts';
import { type Conversation, converse } from './answers.ts';
import type { FuzzRequest } from './request.ts';
import { PLAYGROUND } from './texts.ts';

/** A real sandbox behind the real edge, of which it is known whether they are still the same and answer. */
export interface Arena {
  send(request: FuzzRequest): Promise<Conversation>;
  /** What may stand in no answer: where the server keeps its things. */
  readonly secrets: readonly string[];
  /**
   * Ends what the inputs have left behind, and calls the agent and the server as a client would. Resolves with what is wrong
   * with them: another process than before, no proper answer, or descriptors that were not given back.
   */
  examine(): Promise<string | undefined>;
}

/** Kept connections, the terminals' and the timers' own, and whatever is on its way out. */
const SPARE_DESCRIPTORS = 12;
const SETTLE_MS = 8000;

interface Vitals {
  /** Process id and time of its start, which distinguishes a new process from the old one. */
  agent: string;
  agentDescriptors: number;
  serverDescriptors: number;
}

const LOOK = 'set -- $(cat /proc/$PPID/stat); shift 21; echo "$PPID $1 $(ls /proc/$PPID/fd | wc -l)"';

const look = async (root: EnvdClient, serverPid: number): Promise<Vitals> => {
  let output = '';
  const call = { process: { cmd: '/bin/sh', args: ['-c', LOOK], cwd: '/' }, stdin: false };
  for await (const { event } of root.process.start(call, { timeoutMs: 10_000 })) {
    const data = event?.event.case === 'data' ? event.event.value.output : undefined;
    if (data?.case === 'stdout') output += Buffer.from(data.value).toString();
  }
  const [pid = '', startedAt = '', count = ''] = output.trim().split(' ');
  if (!/^\d+$/.test(count)) throw new Error(`the agent's shell said "${output}"`);
  return {
    agent: `${pid} started at ${startedAt}`,
    agentDescriptors: Number(count),
    serverDescriptors: readdirSync(`/proc/${serverPid}/fd`).length,
  };
};

const FILL = `mkdir -p ${PLAYGROUND}/a/b /home/user && cd ${PLAYGROUND} && echo hello > file && ln -sfn a link && ln -sfn loop loop
[ -p fifo ] || mkfifo fifo`;

/** Ends the processes that inputs have started. */
const sweep = async (root: EnvdClient): Promise<void> => {
  const { processes } = await root.process.list({});
  for (const { pid } of processes) {
    const process = { selector: { case: 'pid', value: pid } } as const;
    // The process may have ended by itself.
    await root.process.sendSignal({ process, signal: Signal.SIGKILL }).catch(() => undefined);
  }
};

/** Prepares a sandbox of the stack for inputs. */
export const createArena = async (stack: Stack): Promise<Arena> => {
  const sandbox: StackSandbox = await stack.createSandbox({ timeoutSeconds: 3600 });
  const root = createEnvdClient({
    baseUrl: stack.address.sandboxUrl,
    accessToken: sandbox.accessToken,
    headers: toRouting(sandbox.sandboxId),
    user: 'root',
  });
  const { hostname: host, port } = new URL(stack.address.apiUrl);
  const values: Readonly<Record<string, string>> = {
    host: `49983-${sandbox.sandboxId}.${stack.address.domain}`,
    domain: stack.address.domain,
    id: sandbox.sandboxId,
    token: sandbox.accessToken,
    key: stack.address.apiKey,
  };
  const fill = (text: string): string =>
    text.replace(/\{(host|domain|id|token|key)\}/g, (_, name: string) => values[name] ?? '');

  const prepare = async (): Promise<void> => {
    for await (const _ of root.process.start({ process: { cmd: '/bin/sh', args: ['-c', FILL], cwd: '/' } }));
  };
  const removeOthers = async (): Promise<void> => {
    const { data = [] } = await stack.api.GET('/sandboxes');
    for (const { sandboxID } of data) {
      if (sandboxID === sandbox.sandboxId) continue;
      await stack.api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } });
    }
  };
  await prepare();
  const before = await look(root, stack.pid);

  const judgeVitals = async (): Promise<string | undefined> => {
    const deadlineMs = performance.now() + SETTLE_MS;
    for (;;) {
      await sweep(root);
      const now = await look(root, stack.pid);
      if (now.agent !== before.agent) return `the agent was ${before.agent} and is ${now.agent}`;
      const grown = (['agentDescriptors', 'serverDescriptors'] as const).filter(
        (name) => now[name] > before[name] + SPARE_DESCRIPTORS,
      );
      if (grown.length === 0) return undefined;
      if (performance.now() > deadlineMs) {
        return grown.map((name) => `${name} were ${before[name]} and are ${now[name]}`).join(', ');
      }
      await delay(200);
    }
  };

  return {
    secrets: [stack.dataDir, import.meta.dirname.replace(/\/packages\/.*/, '/packages')],
    async send({ head, body, cuts, isHead, isWhole, rule }) {
      const bytes = Buffer.concat([Buffer.from(fill(head), 'latin1'), body]);
      const places = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
      const packets = places.slice(1).map((end, at) => bytes.subarray(places[at], end));
      return converse({ host, port: Number(port) }, packets, {
        isHead,
        isWhole,
        isStream: rule === 'stream',
      });
    },
    async examine() {
      if (!existsSync(`/proc/${stack.pid}`)) return 'the server has ended';
      try {
        await removeOthers();
        await prepare();
        return await judgeVitals();
      } catch (error) {
        return `a call that always works failed: ${error instanceof Error ? error.message : String(error)}`;
      }
    },
  };
};
