import { isSupported } from './supported-node.ts';

/** The used part of the manifest of the published package. */
interface Manifest {
  os: string[];
  cpu: string[];
  engines: { node: string };
}

/**
 * Why this process cannot run the package with that manifest, as one line; undefined when it can. npm refuses to install it on another
 * system or processor, but pnpm only warns, and both can be told to go on.
 */
export function findObstacle(
  { os, cpu, engines }: Manifest,
  { platform, arch, version }: Pick<NodeJS.Process, 'platform' | 'arch' | 'version'>,
): string | undefined {
  if (!os.includes(platform) || !cpu.includes(arch))
    return `${os.join(' or ')} on ${cpu.join(' or ')} is needed, and this is ${platform} on ${arch}`;
  if (!isSupported(version, engines.node)) return `Node ${engines.node} is needed, and this is ${version}`;
  return undefined;
}
