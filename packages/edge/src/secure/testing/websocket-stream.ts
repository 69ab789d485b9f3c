/** Returns the headers with which a stream of HTTP/2 becomes a WebSocket (RFC 8441). */
export const toWebSocketHeaders = (authority: string) => ({
  ':method': 'CONNECT',
  ':protocol': 'websocket',
  ':scheme': 'https',
  ':path': '/',
  ':authority': authority,
  'sec-websocket-version': '13',
});
