import { type Stack, type StackSandbox, toRouting } from '../stack.ts';

/** One envelope of a stream as it came over the wire. */
export interface Envelope {
  flags: number;
  json: unknown;
}

const toEnvelope = (message: unknown): Buffer => {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
};

const toEnvelopes = (body: Buffer): Envelope[] => {
  const envelopes: Envelope[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    envelopes.push({ flags: body.readUInt8(at), json: JSON.parse(body.toString('utf8', at + 5, end)) });
    at = end;
  }
  return envelopes;
};

/** The headers of a call, plain, as any HTTP client would send them to the edge. */
export const toCallHeaders = (sandbox: StackSandbox, contentType: string): Record<string, string> => ({
  ...toRouting(sandbox.sandboxId),
  'X-Access-Token': sandbox.accessToken,
  'Content-Type': contentType,
  'Connect-Protocol-Version': '1',
});

/** Sends the messages of a stream in JSON, waits for its end and gives what came back, envelope by envelope. */
export const postStream = async (
  { address }: Stack,
  sandbox: StackSandbox,
  {
    procedure,
    messages,
    headers = {},
  }: { procedure: string; messages: readonly unknown[]; headers?: Record<string, string> },
): Promise<{ status: number; envelopes: Envelope[] }> => {
  const response = await fetch(`${address.sandboxUrl}/${procedure}`, {
    method: 'POST',
    headers: { ...toCallHeaders(sandbox, 'application/connect+json'), ...headers },
    body: Buffer.concat(messages.map(toEnvelope)),
  });
  return { status: response.status, envelopes: toEnvelopes(Buffer.from(await response.arrayBuffer())) };
};

/** Sends one unary call in JSON. */
export const postCall = async (
  { address }: Stack,
  sandbox: StackSandbox,
  procedure: string,
  message: unknown,
): Promise<{ status: number; json: unknown }> => {
  const response = await fetch(`${address.sandboxUrl}/${procedure}`, {
    method: 'POST',
    headers: toCallHeaders(sandbox, 'application/json'),
    body: JSON.stringify(message),
  });
  return { status: response.status, json: await response.json() };
};
