// Pauses a sandbox to disk while a program in it counts, and goes on where it was.
import { Sandbox } from '@skerry/sdk';

const sandbox = await Sandbox.create({ timeoutMs: 300_000 });
try {
  const counting = 'n=0; while true; do n=$((n + 1)); echo $n > count; sleep 0.1; done';
  const counter = await sandbox.commands.run(counting, { background: true, timeoutMs: 0 });
  counter.disconnect();
  await sandbox.commands.run('until [ "$(cat count 2>/dev/null || echo 0)" -ge 5 ]; do sleep 0.1; done');

  await sandbox.pause();
  const resumed = await Sandbox.connect(sandbox.sandboxId);
  const before = Number(await resumed.files.read('count'));
  await resumed.commands.run(`until [ "$(cat count)" -gt ${before} ]; do sleep 0.1; done`);

  const after = Number(await resumed.files.read('count'));
  console.log('it has gone on counting:', after > before && before >= 5);
  console.log(
    'it is the same process:',
    (await resumed.commands.list()).some((command) => command.pid === counter.pid),
  );
} finally {
  await sandbox.kill();
}
