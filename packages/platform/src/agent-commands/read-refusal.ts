import type { IncomingMessage } from 'node:http';

/** The agent refuses an archive. The message is the agent's. */
export class RefusedArchiveError extends Error {}

/** What is read of an answer: code inside may impersonate the agent and send without end. */
const MAX_ANSWER_LENGTH = 4_096;
/** The caller of the build can change what leads to these. */
const refusals = [400, 401, 507];

/** Reads the error in an answer of the agent: `RefusedArchiveError` where the owner of the build can change the cause. */
export const readRefusal = async (response: IncomingMessage, path: string): Promise<Error> => {
  const answer = await readAnswer(response);
  if (refusals.includes(response.statusCode ?? 0)) return new RefusedArchiveError(toMessage(answer));
  return new Error(`the agent answered ${response.statusCode} to ${path}: ${answer.slice(0, 500)}`);
};

const readAnswer = async (response: IncomingMessage): Promise<string> => {
  let answer = '';
  for await (const piece of response.setEncoding('utf8')) {
    answer += piece;
    if (answer.length > MAX_ANSWER_LENGTH) break;
  }
  return answer.slice(0, MAX_ANSWER_LENGTH);
};

const toMessage = (answer: string): string => {
  try {
    const { message } = JSON.parse(answer) as { message?: unknown };
    return typeof message === 'string' ? message : answer;
  } catch {
    // Another program than the agent may have answered.
    return answer;
  }
};
