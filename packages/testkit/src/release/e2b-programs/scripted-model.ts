import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The server of a model that follows a script. */
export interface ScriptedModel extends AsyncDisposable {
  /** The value of `OPENAI_BASE_URL`. */
  readonly url: string;
}

interface Tool {
  name?: string;
  parameters?: { properties?: Record<string, unknown> };
}
interface Item {
  type?: string;
  output?: unknown;
}
interface ModelRequest {
  model: string;
  stream?: boolean;
  input: Item[];
  tools?: Tool[];
}

/** The names that frameworks give to the argument of a tool that runs a command. */
const isCommand = (name: string): boolean => name === 'cmd' || name === 'command';

/** The tool of a request that runs a command, and the name of its argument. Throws if there is none. */
function findTool(tools: readonly Tool[]): { name: string; argument: string } {
  for (const { name, parameters } of tools) {
    const argument = Object.keys(parameters?.properties ?? {}).find(isCommand);
    if (name !== undefined && argument !== undefined) return { name, argument };
  }
  throw new Error(`none of the tools runs a command: ${tools.map(({ name }) => name).join(', ')}`);
}

/** The next item of the conversation: the call of a tool for each command in turn, then a message with all that they printed. */
function nextItem({ input, tools = [] }: ModelRequest, commands: readonly string[]): object {
  const outputs = input.filter(({ type }) => type === 'function_call_output').map(({ output }) => output);
  const id = `${outputs.length + 1}`;
  const command = commands[outputs.length];
  if (command === undefined) {
    const said = outputs.map((output) => (typeof output === 'string' ? output : JSON.stringify(output)));
    const content = [{ type: 'output_text', text: said.join('\n'), annotations: [] }];
    return { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content };
  }
  const { name, argument } = findTool(tools);
  return {
    ...{ type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, status: 'completed', name },
    arguments: JSON.stringify({ [argument]: command }),
  };
}

async function answer(request: IncomingMessage, commands: readonly string[]): Promise<object> {
  if (request.url !== '/v1/responses') throw new Error(`no script for ${request.method} ${request.url}`);
  const asked = JSON.parse(await text(request)) as ModelRequest;
  if (asked.stream === true) throw new Error('no script for a stream');
  const usage = {
    ...{ input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  };
  const output = [nextItem(asked, commands)];
  const id = `resp_${asked.input.length}`;
  return {
    id,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: asked.model,
    output,
    usage,
  };
}

/**
 * Starts a server of the Responses API that has the program run these commands, one after the other, and then repeats what it got for
 * them. It refuses everything else with 400 and the reason.
 */
export async function startScriptedModel(commands: readonly string[]): Promise<ScriptedModel> {
  const server = createServer((request, response) => {
    void answer(request, commands)
      .catch((error: unknown) => {
        response.statusCode = 400;
        return { error: { message: (error as Error).message, type: 'invalid_request_error' } };
      })
      .then((body) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
