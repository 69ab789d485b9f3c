import { expect, it } from 'vitest';
import { serveAgent } from '../testing/serve-agent.ts';
import { Files } from './files.ts';

const formats = ['text', 'bytes', 'blob', 'stream'] as const;

/** Reads a file of these pieces, sent with or without its length, and returns how many bytes came or the error. */
async function readOf(
  pieces: readonly string[],
  { format, maxBytes, length }: { format: (typeof formats)[number]; maxBytes: number; length: boolean },
): Promise<unknown> {
  const { agent } = await serveAgent(
    () => undefined,
    (_request, response) => {
      const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      response.writeHead(200, length ? { 'content-length': String(sizeBytes) } : {});
      for (const piece of pieces) response.write(piece);
      response.end();
    },
  );
  const reading = new Files(agent).read('a', { format: format as 'stream', maxBytes });
  return reading.then((body) => new Response(body).text()).catch((error: unknown) => error);
}

it.each(formats)(
  'reads a file of maxBytes as %s, and rejects a larger one with too_large',
  async (format) => {
    for (const length of [true, false]) {
      expect(await readOf(['four', '5'], { format, maxBytes: 5, length })).toBe('four5');
      expect(await readOf(['four', '56'], { format, maxBytes: 5, length })).toMatchObject({
        code: 'too_large',
        message: 'the file has more than maxBytes, which is 5',
      });
    }
  },
);

it('ends the connection of a file without end', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const { agent } = await serveAgent(
    () => undefined,
    (request, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', more);
      };
      more();
      request.socket.once('close', () => resolve());
    },
  );
  await expect(new Files(agent).read('a', { maxBytes: 1_000_000 })).rejects.toMatchObject({
    code: 'too_large',
  });
  await closed;
});

it('reads no error without end', async () => {
  const { agent } = await serveAgent(
    () => undefined,
    (_request, response) => {
      response.writeHead(500);
      const more = (): void => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', more);
      };
      more();
    },
  );
  await expect(new Files(agent).read('a')).rejects.toMatchObject({
    code: 'internal',
    message: 'x'.repeat(200),
  });
});

it.each([-1, 1.5, Number.NaN])('refuses a maxBytes of %d', async (maxBytes) => {
  const { agent } = await serveAgent(() => undefined);
  await expect(new Files(agent).read('a', { maxBytes })).rejects.toMatchObject({ code: 'invalid_argument' });
});
