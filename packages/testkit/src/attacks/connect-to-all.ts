import type { Sandbox } from '@skerry/sdk';
import { type attackers, runPython } from './run-python.ts';

/** Connects to each of `host:port` at the same time and prints what came of each as JSON. */
const program = `
import errno, json, socket, sys, threading
found = {}
def reach(target):
    host, port = target.rsplit(':', 1)
    with socket.socket() as client:
        client.settimeout(4)
        try:
            client.connect((host, int(port))); found[target] = 'reached'
        except socket.timeout: found[target] = 'no answer'
        except OSError as error: found[target] = errno.errorcode.get(error.errno, str(error))
threads = [threading.Thread(target=reach, args=(target,)) for target in json.loads(sys.argv[1])]
for one in threads: one.start()
for one in threads: one.join()
print(json.dumps(found))
`;

/** Connects from inside to each of `host:port`, and resolves with what came of each: `reached`, `no answer` or an error of the system. */
export const connectToAll = async (
  sandbox: Sandbox,
  user: (typeof attackers)[number],
  targets: readonly string[],
): Promise<Record<string, string>> => {
  const found = JSON.parse(await runPython(sandbox, user, program, JSON.stringify(targets))) as Record<
    string,
    string
  >;
  const missing = targets.filter((target) => !(target in found));
  if (missing.length > 0) throw new Error(`nothing came of ${missing.join(', ')}`);
  return found;
};
