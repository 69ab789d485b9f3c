import type { EnvdClient } from '@skerry/envd-client';
import { runScript } from '../agent-rules/process-events.ts';

/** SIGUSR1 opens the inspector of Node, at this port and for as long as the process lives. The agent is the parent. */
const program = `
const find = async () => {
  try {
    return await (await fetch("http://127.0.0.1:9229/json")).json();
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 50)); // The debugger does not listen yet.
    return find();
  }
};
process.kill(Number(process.argv[1]), "SIGUSR1");
find().then(([target]) => {
  const inspector = new WebSocket(target.webSocketDebuggerUrl);
  inspector.onopen = () => inspector.send(JSON.stringify({ id: 1, method: "HeapProfiler.collectGarbage" }));
  inspector.onmessage = () => process.exit();
});
`;

/** Makes the agent of a sandbox collect its garbage: what remains of its memory is what it keeps. The client is root's. */
export const collectGarbage = async (asRoot: EnvdClient): Promise<void> => {
  const { stderr } = await runScript(asRoot, `/.envd/node -e '${program}' $PPID`);
  if (stderr !== '') throw new Error(stderr);
};
