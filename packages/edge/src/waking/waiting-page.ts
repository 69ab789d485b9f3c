import type { ServerResponse } from 'node:http';
import { REQUEST_ID, requestIdOf } from '@skerry/contract/request-id';
import { beginPage, escapeHtml } from '../error-page.ts';
import type { Target } from '../target.ts';

/** A page that a browser shows while a sandbox is resumed. Its response stays open until one of these. */
export interface WaitingPage {
  /** Lets the browser open the address again. */
  reload(): void;
  /** Shows why it does not. */
  fail(message: string): void;
}

/** Sends the page as far as it is known. It needs no script, so that no policy of the browser prevents it. */
export const openWaitingPage = (response: ServerResponse, target: Target): WaitingPage => {
  // This page stands in for the one of the port: no cache may keep it, and a program sees by the status that it waits.
  response.writeHead(503, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': '1',
    'x-content-type-options': 'nosniff',
    [REQUEST_ID]: requestIdOf(response.req),
  });
  response.write(`${beginPage('The sandbox is being resumed', target)}<p>This page opens by itself.</p>\n`);
  return {
    reload: () => void response.end('<meta http-equiv="refresh" content="0">\n</html>\n'),
    fail: (message) =>
      void response.end(
        `<p><strong>${escapeHtml(message)}</strong></p>\n<p>Reload to try again.</p>\n</html>\n`,
      ),
  };
};
