import { join } from 'node:path';
import { findLocations } from '@skerry/server/locations';

/** The templates whose Dockerfiles come with the command. */
export const readyMadeNames: readonly string[] = ['base', 'base-minimal', 'coding-agent', 'node', 'python'];

/** The path of the Dockerfile of one of them. */
export const findReadyMade = (name: string): string =>
  join(findLocations().readyMadeTemplates, name, 'Dockerfile');
