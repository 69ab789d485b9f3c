import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves when a program that was started just now accepts connections. */
export async function untilServed(port: number): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const socket = connect({ host: '127.0.0.1', port });
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    } finally {
      socket.destroy();
    }
    await delay(50);
  }
}
