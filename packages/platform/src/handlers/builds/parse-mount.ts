import type { components } from '@skerry/platform-client';
import type { MountStep } from '../../templates/build-plan.ts';
import type { ToProblem } from './build-problem.ts';
import { parseStage, parseUpload } from './parse-copy.ts';

type Mount = components['schemas']['BuildMount'];

const ofCache = ['id', 'readOnly', 'locked', 'mode', 'uid', 'gid'] as const;
const CACHE_MODE = 0o755;

/**
 * Parses one mount of a step, whose shape was checked against the document. `name` is that of its field, and
 * `stageCount` the number of the stages before it. Throws the problem of a field.
 */
export const parseMount = (
  mount: Mount,
  {
    name: position,
    problem: problemOfStep,
    stageCount,
  }: { name: string; problem: ToProblem; stageCount: number },
): MountStep => {
  const problem: ToProblem = (field, message) => problemOfStep(`${position}.${field}`, message);
  const { type, target, source, fromStage, filesHash } = mount;
  for (const [name, text] of Object.entries({ target, source, id: mount.id }))
    if (text?.includes('\0')) throw problem(name, 'must not contain NUL');
  const refuseField = (name: string, reason: string): never => {
    throw problem(name, reason);
  };
  if (type !== 'cache')
    for (const name of ofCache) if (mount[name] !== undefined) refuseField(name, 'is for "cache"');
  if (filesHash !== undefined && type !== 'bind') refuseField('filesHash', 'is for "bind"');
  if (fromStage !== undefined && filesHash !== undefined)
    refuseField('filesHash', 'does not go with fromStage');
  if (source !== undefined && fromStage === undefined && filesHash === undefined)
    refuseField('source', 'needs fromStage or filesHash');
  const from =
    fromStage === undefined
      ? undefined
      : { ...parseStage(fromStage, problem, stageCount), source: source ?? '/' };
  switch (type) {
    case 'tmpfs':
      if (from !== undefined) refuseField('fromStage', 'is for "bind" and "cache"');
      return { type, target };
    case 'bind':
      if (from !== undefined) return { type, target, from };
      if (filesHash === undefined)
        return refuseField('filesHash', 'is missing: "bind" needs it, or fromStage');
      return {
        type,
        target,
        from: parseUpload(filesHash, { source: source ?? '.', sourceField: 'source' }, problem),
      };
    case 'cache': {
      const { id, readOnly = false, locked = false, mode = CACHE_MODE, uid = 0, gid = 0 } = mount;
      return { type, target, id, readOnly, locked, mode, uid, gid, from };
    }
  }
};
