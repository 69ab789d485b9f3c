import { strict as assert } from 'node:assert';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { checkCountsOn, checkWork, readCounter, startCounter } from './checks.ts';
import { untilNothingIsLeft } from './down.ts';
import { checkMemory } from './keeping.ts';
import { checkLimits } from './limits.ts';
import { attempt, run } from './run.ts';
import { findServer, readPid, type Server, takeDown, untilServes, usualServer } from './server.ts';

const unitPath = '/etc/systemd/system/skerry.service';
const server: Server = { ...usualServer, args: [] };

const toUnit = (delegate: boolean): string => `[Unit]
Description=skerry
After=network.target

[Service]
Environment=SKERRY_IMAGES_DIR=/opt/skerry/images
ExecStart=/usr/local/bin/skerry up
${delegate ? 'Delegate=yes\n' : ''}
[Install]
WantedBy=multi-user.target
`;

const untilStarted = async (): Promise<Awaited<ReturnType<typeof untilServes>>> =>
  untilServes(server, () => undefined);

/** skerry as a service: sandboxes have their limits, and outlive a reload and a restart of it. */
export async function checkService({ delegate }: { delegate: boolean }): Promise<void> {
  if (await findServer()) await takeDown();
  mkdirSync(server.dataDir, { recursive: true });
  writeFileSync(unitPath, toUnit(delegate));
  try {
    await run('systemctl', 'daemon-reload');
    await run('systemctl', 'start', 'skerry.service');
    const connection = await untilStarted();
    await checkLimits(connection, { disk: false });
    await checkMemory(connection);

    const sandbox = await Sandbox.create({ ...connection, timeoutMs: 3_600_000 });
    await startCounter(sandbox);
    const before = await readCounter(sandbox);
    await run('systemctl', 'daemon-reload');
    await delay(2_000);
    await checkWork(sandbox);
    await checkLimits(connection, { disk: false });

    const first = readPid();
    await run('systemctl', 'restart', 'skerry.service');
    const again = await untilStarted();
    assert.notEqual(readPid(), first, 'the server after a restart');
    const found = await Sandbox.connect(sandbox.sandboxId, { ...again, timeoutMs: 3_600_000 });
    await checkCountsOn(found, before);
    await checkWork(found);

    await run('systemctl', 'stop', 'skerry.service');
    const { output } = await attempt('systemctl', 'is-failed', 'skerry.service');
    assert.equal(output.trim(), 'inactive', 'the service after its stop');
    assert.match(await takeDown(), /^stopped 1 sandbox$/m);
    await untilNothingIsLeft();
  } finally {
    await attempt('systemctl', 'stop', 'skerry.service');
    rmSync(unitPath, { force: true });
    await attempt('systemctl', 'daemon-reload');
  }
}
