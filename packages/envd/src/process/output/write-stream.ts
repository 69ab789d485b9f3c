import { invalid } from '@skerry/contract/error';
import type { ProcessInput, StreamInputRequest } from '@skerry/envd-client/process';
import type { Selector } from '../process-table.ts';

/**
 * Writes the messages of one input stream in their order, each only after the one before was accepted. The first must be
 * `start`, and only the first: anything else throws `invalid_argument`.
 */
export const writeStream = async <T>(
  requests: AsyncIterable<StreamInputRequest>,
  target: {
    find: (selector: Selector | undefined) => T;
    write: (process: T, input: ProcessInput | undefined) => Promise<void>;
  },
): Promise<void> => {
  let process: T | undefined;
  for await (const { event } of requests) {
    switch (event.case) {
      case 'start':
        if (process !== undefined) throw invalid('start may only be the first message of the stream');
        process = target.find(event.value.process?.selector);
        break;
      case 'data':
        if (process === undefined) throw invalid('data came before start; the first message must be start');
        await target.write(process, event.value.input);
        break;
      case 'keepalive':
        if (process === undefined)
          throw invalid('keepalive came before start; the first message must be start');
        break;
      default:
        throw invalid('message is empty; set start, data or keepalive');
    }
  }
  if (process === undefined) throw invalid('the stream ended before start');
};
