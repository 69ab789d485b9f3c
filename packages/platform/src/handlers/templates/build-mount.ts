import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { MountStep } from '../../templates/build-plan.ts';
import { parseStage, parseUpload } from '../../templates/uploads/copy-step.ts';

type Mount = components['schemas']['BuildMount'];

const ofCache = ['id', 'readOnly', 'locked', 'mode', 'uid', 'gid'] as const;
const CACHE_MODE = 0o755;

/**
 * Parses one mount of a step, whose shape was checked against the document. `stageCount` is the number of the stages before it.
 * Throws `invalid_argument`, naming the field.
 */
export const parseMount = (mount: Mount, field: string, stageCount: number): MountStep => {
  const { type, target, source, fromStage, filesHash } = mount;
  for (const text of [target, source, mount.id])
    if (text?.includes('\0')) throw invalid(`${field} must not contain NUL`);
  const refuseField = (name: string, reason: string): never => {
    throw invalid(`${field}.${name} ${reason}`);
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
      : { ...parseStage(fromStage, field, stageCount), source: source ?? '/' };
  switch (type) {
    case 'tmpfs':
      if (from !== undefined) refuseField('fromStage', 'is for "bind" and "cache"');
      return { type, target };
    case 'bind':
      if (from !== undefined) return { type, target, from };
      if (filesHash === undefined)
        return refuseField('filesHash', 'is missing: "bind" needs it, or fromStage');
      return { type, target, from: parseUpload(filesHash, source ?? '.', field) };
    case 'cache': {
      const { id, readOnly = false, locked = false, mode = CACHE_MODE, uid = 0, gid = 0 } = mount;
      return { type, target, id, readOnly, locked, mode, uid, gid, from };
    }
  }
};
