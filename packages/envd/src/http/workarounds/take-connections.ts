/**
 * Program: Node.js
 * Does: Takes away what Node's HTTP server listens to its own new connections with, and calls it for some of them.
 * Why not the promised way: A server takes connections that are given to it by `emit('connection', socket)`. One that does not listen
 * itself never checks `headersTimeout`, and for one that does, every connection is HTTP/1.
 * Source: https://nodejs.org/docs/latest-v24.x/api/http.html#event-connection;
 * https://github.com/nodejs/node/blob/v24.x/lib/_http_server.js (`setupConnectionsTracking`, called for the event `listening`)
 * When it no longer fits: A server that listens to its connections in another way answers each as HTTP/1, and no longer tells the
 * protocols apart, which the tests see.
 * Test: ../public-server.test.ts, ../http2.test.ts
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Returns what serves a connection as HTTP/1. The server does no longer do so by itself. */
export const takeConnections = (server: Server): ((socket: Socket) => void) => {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  return (socket) => {
    for (const serve of listeners) serve.call(server, socket);
  };
};
