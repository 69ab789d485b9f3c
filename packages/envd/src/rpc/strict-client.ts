import type { HandlerContext } from '@connectrpc/connect';

/** Early Python clients, which name nothing but their library, fail on any field that came after the first version. */
export const isStrict = ({ requestHeader }: HandlerContext): boolean =>
  requestHeader.get('user-agent') === 'connect-python';
