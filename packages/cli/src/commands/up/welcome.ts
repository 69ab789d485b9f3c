import type { ServerAddress } from '@skerry/server/data-folder';
import { quoteWord } from '../sandbox/attached/quote-words.ts';
import type { Invocation } from './invocation.ts';

export interface WelcomeOptions {
  address: ServerAddress;
  /** Lines on the level of isolation. */
  isolation: readonly string[];
  invocation: Invocation;
  /** The folder of the server when it is not the user's default. */
  dataDir: string | undefined;
}

/** What a user reads when the service is ready. Each indented line below a sentence can be pasted into another terminal as it stands. */
export function toWelcome({ address, isolation, invocation, dataDir }: WelcomeOptions): string {
  const { apiUrl, sandboxUrl, domain, apiKey } = address;
  const { command, folder, bySudo } = invocation;
  const down = dataDir === undefined ? 'down' : `down --data ${quoteWord(dataDir)}`;
  return `skerry is ready

  API        ${apiUrl}
  key        ${apiKey}
  sandboxes  ${new URL(apiUrl).protocol}//{port}-{id}.${domain}
  isolation  ${isolation.join('\n             ')}

In another terminal:

${folder === undefined ? '' : `  cd ${quoteWord(folder)}\n`}\
  export SKERRY_API_URL=${apiUrl} SKERRY_DOMAIN=${domain} SKERRY_API_KEY=${apiKey}
  ${command} sandbox run -- python3 -c 'print("hello")'
${folder === undefined ? '' : '  npm run -s example hello\n'}\

For a program that uses the e2b package:

  export E2B_API_URL=${apiUrl} E2B_SANDBOX_URL=${sandboxUrl} E2B_API_KEY=${apiKey}

Ctrl-C stops serving; sandboxes run on until they expire, or until this ends them:

  ${bySudo ? 'sudo ' : ''}${command} ${down}
`;
}
