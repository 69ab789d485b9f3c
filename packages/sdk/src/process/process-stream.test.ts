import type { ConnectRequest } from '@skerry/envd-client/process';
import { Process } from '@skerry/envd-client/process';
import { expect, it } from 'vitest';
import { TimeoutError } from '../errors.ts';
import { serveAgent } from '../testing/serve-agent.ts';
import { Commands } from './commands.ts';
import { type LostOutput, OutputLostError } from './output-lost-error.ts';

const toEvent = <T>(event: T) => ({ event: { event } });
const start = (offset?: bigint) =>
  toEvent({
    case: 'start' as const,
    value: { pid: 7, ...(offset === undefined ? {} : { skerryOffset: offset }) },
  });
const stdout = (value: Uint8Array) =>
  toEvent({ case: 'data' as const, value: { output: { case: 'stdout' as const, value } } });
const end = toEvent({ case: 'end' as const, value: { exitCode: 0, exited: true } });
const keepalive = toEvent({ case: 'keepalive' as const, value: {} });
/** Output of a kind that this version does not know. */
const unknown = toEvent({ case: 'data' as const, value: { output: { case: undefined } } });

interface Script {
  /** The whole output of the command. */
  text: string;
  /** Bytes after which a connection breaks; when the list is empty it does not break. */
  cuts: number[];
  /** The server keeps only output after this offset. */
  keptFrom?: number;
  knowsOffsets?: boolean;
  /** The response of `/health`, once the first connection is cut. */
  health?: number;
  /** The number of connections after the first that are refused. */
  refusals?: number;
  /** Whether a connection ends as a stream does instead of breaking. */
  endsStreams?: boolean;
}

/** A server whose one command writes `text`, and whose connections break in the middle. */
const serve = async ({ text, cuts, keptFrom = 0, knowsOffsets = true, ...script }: Script) => {
  const all = new TextEncoder().encode(text);
  const asked: ConnectRequest[] = [];
  const left = [...cuts];
  let { refusals = 0 } = script;
  /** The connections that were attached and that their client has let go of. */
  const released: number[] = [];
  async function* write(from: number) {
    const cut = left.shift();
    const until = cut === undefined ? all.length : Math.min(from + cut, all.length);
    yield unknown;
    for (let at = from; at < until; at += 3) {
      yield stdout(all.subarray(at, Math.min(at + 3, until)));
      yield keepalive;
    }
    if (cut === undefined) {
      yield end;
      return;
    }
    if (script.endsStreams) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
    served.seen.at(-1)?.socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const served = await serveAgent(
    (router) => {
      router.service(Process, {
        async *start() {
          yield start();
          yield* write(0);
        },
        async *connect(request, { signal }) {
          const attached = asked.push(request);
          signal.addEventListener('abort', () => released.push(attached));
          if (refusals-- > 0) {
            served.seen.at(-1)?.socket.destroy();
            return;
          }
          const { skerryOffset: offset } = request;
          if (!knowsOffsets || offset === undefined) {
            yield start();
            yield* write(all.length);
            return;
          }
          const from = Math.max(Math.min(Number(offset), all.length), keptFrom);
          yield start(BigInt(from));
          yield* write(from);
        },
      });
    },
    (_request, response) => void response.writeHead(script.health ?? 204).end(),
  );
  return { commands: new Commands(served.agent), asked, seen: served.seen, released };
};

const text = 'one Δ two € three 𝄞 four';
const sizeBytes = Buffer.byteLength(text);

it('attaches again at its offset: no byte is missing or repeated, also in the middle of a character', async () => {
  const { commands, asked } = await serve({ text, cuts: [5, 1, 4, 2, 0, 7] });
  const pieces: string[] = [];
  const handle = await commands.run('x', { background: true, onStdout: (piece) => void pieces.push(piece) });
  expect(await handle.wait()).toMatchObject({ stdout: text, exitCode: 0 });
  expect(pieces.join('')).toBe(text);
  expect(asked.map(({ skerryOffset }) => skerryOffset)).toEqual([5n, 6n, 10n, 12n, 12n, 19n]);
  expect(asked[0]?.process?.selector).toEqual({ case: 'pid', value: 7 });
  expect(handle.offset).toBe(sizeBytes);
});

it('keeps trying while no server answers, and starts the command only once', async () => {
  const { commands, seen } = await serve({ text, cuts: [5], refusals: 3 });
  expect((await commands.run('x')).stdout).toBe(text);
  expect(seen.filter(({ url }) => url?.endsWith('/Start'))).toHaveLength(1);
});

it('fails with the gap when the sandbox has not kept all output', async () => {
  const { commands } = await serve({ text, cuts: [5], keptFrom: 11 });
  const failure: unknown = await commands.run('x').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(OutputLostError);
  expect(failure).toMatchObject({ code: 'output_lost', offset: 5, lostBytes: 6 });
});

it('reports the gap to a listener and continues after it', async () => {
  const { commands } = await serve({ text, cuts: [4], keptFrom: 6 });
  const lost: LostOutput[] = [];
  const { stdout: kept } = await commands.run('x', { onOutputLost: (gap) => lost.push(gap) });
  expect(lost).toEqual([{ offset: 4, lostBytes: 2 }]);
  expect(kept).toBe(text.replace('Δ', ''));
});

it('takes a gap of one byte as one', async () => {
  const failing = await serve({ text, cuts: [4], keptFrom: 5 });
  await expect(failing.commands.run('x')).rejects.toMatchObject({ code: 'output_lost', lostBytes: 1 });
  await expect.poll(() => failing.released).toEqual([1]);
  const { commands } = await serve({ text, cuts: [3], keptFrom: 4 });
  const lost: LostOutput[] = [];
  await commands.run('x', { onOutputLost: (gap) => lost.push(gap) });
  expect(lost).toEqual([{ offset: 3, lostBytes: 1 }]);
});

it('attaches again when the stream ends before the command does', async () => {
  const { commands, asked } = await serve({ text, cuts: [5, 3], endsStreams: true });
  expect((await commands.run('x')).stdout).toBe(text);
  expect(asked.map(({ skerryOffset }) => skerryOffset)).toEqual([5n, 8n]);
});

it('does not attach again where it does not know how much it has', async () => {
  const { commands, asked } = await serve({ text, cuts: [5], knowsOffsets: false });
  const handle = await commands.connect(7);
  await expect(handle.wait()).rejects.toMatchObject({ code: 'connection_failed' });
  expect([asked.length, handle.offset]).toEqual([1, undefined]);
});

it('reports no gap where the server does not support offsets, and lets the connection go', async () => {
  for (const cut of [0, 5]) {
    const { commands, asked, released } = await serve({ text, cuts: [cut], knowsOffsets: false });
    const lost: LostOutput[] = [];
    const failing = commands.run('x', { onOutputLost: (gap) => lost.push(gap) });
    await expect(failing).rejects.toMatchObject({ code: 'connection_failed' });
    expect([lost, asked.length]).toEqual([[], 1]);
    await expect.poll(() => released).toEqual([1]);
  }
});

it('fails with connection_failed when the server does not support offsets', async () => {
  const { commands, asked } = await serve({ text, cuts: [5], knowsOffsets: false });
  await expect(commands.run('x')).rejects.toMatchObject({ code: 'connection_failed' });
  expect(asked).toHaveLength(1);
  const attached = commands.connect(7, { offset: 3 });
  await expect(attached).rejects.toMatchObject({ code: 'unimplemented' });
  expect((await (await commands.connect(7)).wait()).stdout).toBe('');
});

it('does not reconnect when the sandbox has ended', async () => {
  const { commands, asked } = await serve({ text, cuts: [5], health: 502 });
  await expect(commands.run('x')).rejects.toMatchObject({ code: 'sandbox_unavailable' });
  expect(asked).toEqual([]);
});

it('stops trying at the deadline of the command, and when the signal aborts', async () => {
  const { commands } = await serve({ text, cuts: [5, 0, 0], refusals: 100 });
  await expect(commands.run('x', { timeoutMs: 400 })).rejects.toBeInstanceOf(TimeoutError);
  const other = await serve({ text, cuts: [5], refusals: 100 });
  await expect(other.commands.run('x', { signal: AbortSignal.timeout(400) })).rejects.toMatchObject({
    code: 'canceled',
  });
});

it('attaches at the offset of an earlier handle, and rejects one that is lost or not reached yet', async () => {
  const { commands } = await serve({ text, cuts: [], keptFrom: 4 });
  const handle = await commands.connect(7, { offset: 8 });
  expect((await handle.wait()).stdout).toBe(new TextDecoder().decode(Buffer.from(text).subarray(8)));
  await expect(commands.connect(7, { offset: 1 })).rejects.toMatchObject({
    code: 'output_lost',
    lostBytes: 3,
  });
  await expect(commands.connect(7, { offset: 1000 })).rejects.toMatchObject({ code: 'invalid_argument' });
  const fresh = await commands.connect(7);
  expect([(await fresh.wait()).stdout, fresh.offset]).toEqual(['', sizeBytes]);
});
