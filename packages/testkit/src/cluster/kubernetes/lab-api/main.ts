// An API server for tests, in the network of the machine on which this program runs: node main.ts KUBECONFIG
// Each line on stdin is a method with its arguments, as JSON; a line on stdout has its result.
import { createInterface } from 'node:readline';
import { startTestApiServer } from '@skerry/platform/kubernetes-server';

const server = await startTestApiServer();
await server.writeKubeconfig(process.argv[2] ?? '');
const methods: Record<string, (...given: never[]) => unknown> = {
  put: server.put,
  get: server.get,
  stop: server.stop,
  restart: server.restart,
};
const reply = (result: unknown): void => void process.stdout.write(`${JSON.stringify({ result })}\n`);
reply('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line) as [string, ...never[]];
  reply(await methods[name]?.(...given));
}
await server.stop();
