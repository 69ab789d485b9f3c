// A kernel of Jupyter, the one of Debian, whose clients come and go between pauses.
import { isolationLevels } from '@skerry/contract/isolation';
import { findSandboxPackage } from '@skerry/platform/unpacked-packages';
import { Sandbox } from '@skerry/sdk';
import { build, Template } from '@skerry/sdk/template';
import { describe, expect, it, onTestFinished } from 'vitest';
import { joinStack } from '../stack/shared-stack.ts';

const CYCLES = 5;
const CELLS_PER_CYCLE = 3;

const connectionFile = '/home/user/kernel.json';

/** Executes its argument as a cell, as a client of its own that leaves afterwards; prints what the cell prints. */
const client = `
import sys
from jupyter_client import BlockingKernelClient
kernel = BlockingKernelClient(connection_file="${connectionFile}")
kernel.load_connection_file()
kernel.start_channels()
kernel.wait_for_ready(timeout=60)
reply = kernel.execute_interactive(sys.argv[1], timeout=60)
kernel.stop_channels()
sys.exit(reply["content"]["status"] != "ok")
`;

describe.each(isolationLevels)('at level %s', (level) => {
  it('a notebook kernel answers cells after each of many pauses, with the variables of the cells before', async () => {
    const packages = findSandboxPackage('python3-ipykernel');
    if (packages === undefined)
      throw new Error('python3-ipykernel is not unpacked: node scripts/system-packages.ts --more');
    const stack = await joinStack({ level });
    onTestFinished(() => stack.leave());
    const template = `notebook-${level}`;
    const definition = Template().fromTemplate('base').copy('usr', '/usr', { user: 'root' });
    await build(definition, template, {
      ...stack.connection,
      ...{ context: packages, cpuCount: 1, memoryMb: 1024 },
    }).result();
    const made = await stack.createSandbox({ templateID: template, timeoutSeconds: 600 });
    const sandbox = await Sandbox.connect(made.sandboxId, stack.connection);
    await sandbox.files.write('/home/user/cell.py', client);
    const kernel = await sandbox.commands.run(`python3 -m ipykernel_launcher -f ${connectionFile}`, {
      ...{ background: true, timeoutMs: 0 },
    });
    kernel.wait().catch(() => {}); // The kernel ends with its sandbox.
    await expect.poll(() => sandbox.files.exists(connectionFile)).toBe(true);
    const execute = async (code: string): Promise<string> =>
      (await sandbox.commands.run(`python3 cell.py '${code}'`, { timeoutMs: 120_000 })).stdout;

    await execute('seen = []');
    for (let cycle = 1; cycle <= CYCLES; cycle++) {
      for (let cell = 0; cell < CELLS_PER_CYCLE; cell++) await execute(`seen.append(${cycle})`);
      await sandbox.pause();
      await Sandbox.connect(sandbox.sandboxId, stack.connection);
      expect({ cycle, output: await execute('print(len(seen), sum(seen))') }).toEqual({
        cycle,
        output: `${cycle * CELLS_PER_CYCLE} ${(CELLS_PER_CYCLE * cycle * (cycle + 1)) / 2}\n`,
      });
    }
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(kernel.pid);
  });
});
