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

/**
 * Chromium on the host of the sandbox ends all its requests when the host gets an address, as it does for the link of each sandbox that
 * starts (ERR_NETWORK_CHANGED): the rest of the page would never come.
 */
const RELOAD_AFTER_MS = 3_000;

/** Sends the page as far as it is known. Its script only helps where the response breaks: a browser may run none. */
export const openWaitingPage = (response: ServerResponse, target: Target): WaitingPage => {
  // This page stands in for the one of the port: no cache may keep it, and a program sees by the status that it waits.
  response.writeHead(503, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': '1',
    'x-content-type-options': 'nosniff',
    [REQUEST_ID]: requestIdOf(response.req),
  });
  response.write(`${beginPage('The sandbox is being resumed', target)}<p>This page opens by itself.</p>
<script>const reload = setTimeout(() => location.reload(), ${RELOAD_AFTER_MS})</script>
`);
  return {
    reload: () => void response.end('<meta http-equiv="refresh" content="0">\n</html>\n'),
    fail: (message) =>
      void response.end(
        `<script>clearTimeout(reload)</script>\n<p><strong>${escapeHtml(message)}</strong></p>\n<p>Reload to try again.</p>\n</html>\n`,
      ),
  };
};
