// Runs one check inside a guest: main.ts NAME. Prints what it has to say as the last line, and exits with 1 when it fails.
import { checkDown, reset } from './down.ts';
import { checkEgress } from './egress.ts';
import { checkBoot, checkCreate, checkDoctor, checkUp } from './first-start.ts';
import { checkGvisor } from './gvisor.ts';
import { checkFork, checkMemory, checkSnapshot } from './keeping.ts';
import { checkKilledHelper, checkKilledServer } from './kills.ts';
import { checkLimits } from './limits.ts';
import { checkReboot, prepareReboot } from './reboot.ts';
import {
  checkNoUserNamespaces,
  checkRootless,
  checkRootlessDown,
  checkRootlessLimits,
  prepareUser,
} from './rootless.ts';
import { ensureServer } from './server.ts';
import { checkService } from './service.ts';
import { checkSocketMemory } from './socket-memory.ts';
import { noteBaseline } from './traces.ts';

const checks: Record<string, () => Promise<unknown>> = {
  baseline: async () => noteBaseline(),
  boot: checkBoot,
  doctor: checkDoctor,
  up: checkUp,
  create: checkCreate,
  limits: async () => checkLimits(await ensureServer()),
  'socket-memory': async () => checkSocketMemory(await ensureServer()),
  egress: async () => checkEgress(await ensureServer()),
  memory: async () => checkMemory(await ensureServer()),
  fork: async () => checkFork(await ensureServer()),
  snapshot: async () => checkSnapshot(await ensureServer()),
  'kill-server': checkKilledServer,
  'kill-helper': checkKilledHelper,
  'reboot-prepare': prepareReboot,
  reboot: checkReboot,
  down: checkDown,
  service: () => checkService({ delegate: false }),
  'service-delegate': () => checkService({ delegate: true }),
  gvisor: checkGvisor,
  reset,
  'user-prepare': prepareUser,
  rootless: checkRootless,
  'rootless-limits': checkRootlessLimits,
  'rootless-down': checkRootlessDown,
  'no-user-namespaces': checkNoUserNamespaces,
};

const [name = ''] = process.argv.slice(2);
const check = checks[name];
if (!check) throw new Error(`no check is named "${name}"; known: ${Object.keys(checks).join(', ')}`);
try {
  const said = await check();
  if (typeof said === 'string') console.log(said);
  // What a failed call has left open, such as a stream, must not keep this process.
  process.exit(0);
} catch (error) {
  console.log(error);
  process.exit(1);
}
