import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Locations {
  /** Program of the helper process. */
  helperProgram: string;
  /** Program of the process that unpacks an image. */
  unpackerProgram: string;
  /** Program of the gateway for rules by name. */
  gatewayProgram: string;
  /** Folder with the built agent, `main.js` and its chunks. */
  agentBundle: string;
  /** Folder with a folder for each ready-made template, which has its Dockerfile. */
  readyMadeTemplates: string;
}

/**
 * The parts that are files and not imports: beside this module in the published package, in the neighbouring packages
 * in a checkout, where this module is still TypeScript.
 */
export function findLocations(moduleUrl: string = import.meta.url): Locations {
  const here = dirname(fileURLToPath(moduleUrl));
  if (!moduleUrl.endsWith('.ts')) {
    return {
      helperProgram: join(here, 'helper.js'),
      unpackerProgram: join(here, 'unpacker.js'),
      gatewayProgram: join(here, 'egress.js'),
      agentBundle: join(here, 'envd'),
      readyMadeTemplates: join(here, 'templates'),
    };
  }
  const packages = dirname(dirname(here));
  return {
    helperProgram: join(here, 'helper/main.ts'),
    unpackerProgram: join(here, 'unpacker/main.ts'),
    gatewayProgram: join(here, 'egress/main.ts'),
    agentBundle: join(packages, 'envd/dist'),
    readyMadeTemplates: join(dirname(packages), 'templates'),
  };
}
