// Run by clock.driver.test.ts where the clocks that count from the boot of the host are far ahead. Makes a sandbox with
// programs that use timers, pauses it with its memory and prints their output.
import { setTimeout as sleep } from 'node:timers/promises';
import type { InstanceSettings } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { createOci } from '../oci.ts';

const [dataDir = '', agentDir = '', rootfs = '', criuDir = '', settings = ''] = process.argv.slice(2);
const programs = [
  `LD_LIBRARY_PATH=/.envd/lib setsid /.envd/node -e 'let n = 0; setInterval(() => require("fs").writeFileSync("/root/node", String(++n)), 20)'`,
  `setsid python3 -c '
import time
n = 0
while True:
    time.sleep(0.02)
    n += 1
    open("/root/python", "w").write(f"{n} {time.monotonic()}")'`,
];
const runtime = createOci({ dataDir, agentDir, criuDir });
const instance = await runtime.create({ ...(JSON.parse(settings) as InstanceSettings), rootfs });
await runInside(instance, programs.map((program) => `${program} >/dev/null 2>&1 </dev/null &`).join(' '));
await sleep(500);
const said = await runInside(
  instance,
  'until [ -s /root/node ] && [ -s /root/python ]; do sleep 0.05; done; cat /root/python',
);
await instance.pause({ memory: true });
console.log(said.output);
await runtime.close();
