import { fromDockerfile } from './dockerfile/from-dockerfile.ts';
import { startTemplate, type TemplateStart } from './template.ts';

export type { CredentialsFor } from './add-credentials.ts';
export { type BuildOptions, build } from './build.ts';
export { buildCache, type CachedResult, type PruneOptions } from './build-cache.ts';
export {
  type BuildProgress,
  type BuildResult,
  type TemplateBuild,
  TemplateBuildError,
} from './build-handle.ts';
export type {
  MountJson,
  RegistryCredentials,
  TemplateJson,
  TemplateStageJson,
  TemplateStepJson,
} from './definition.ts';
export type { DockerfileOptions } from './dockerfile/from-dockerfile.ts';
export { DockerfileError } from './dockerfile/refused.ts';
export type { LoadOptions, SavedImage } from './image-archive.ts';
export { waitForFile, waitForPort, waitForProcess, waitForTimeout, waitForUrl } from './ready.ts';
export type {
  CopyOptions,
  RunStepOptions,
  StartOptions,
  TemplateBuilder,
  TemplateStart,
} from './template.ts';
export {
  type BuildLogOptions,
  type TemplateBuildStatus,
  type TemplateInfo,
  type TemplateTag,
  templates,
} from './templates.ts';

/** Begins a template: `Template().fromImage('python:3.13-slim').run('pip install flask')`, or `Template.fromDockerfile(path)`. */
export const Template: (() => TemplateStart) & { fromDockerfile: typeof fromDockerfile } = Object.assign(
  startTemplate,
  { fromDockerfile },
);
