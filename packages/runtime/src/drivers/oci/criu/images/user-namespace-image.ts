import { create } from '@bufbuild/protobuf';
import { IdExtentSchema, UserNamespaceSchema } from '../../../../gen/criu/images/images_pb.ts';
import { ID_COUNT } from '../../../../kernel/user-namespace.ts';
import { toImageBytes } from './image-file.ts';

// criu: criu/include/magic.h
const MAGIC = Buffer.from('1943565406494755', 'hex');

/** The image of a user namespace whose users and groups are both mapped to the range at `baseId`. */
export const createUserNamespaceImage = (baseId: number): Promise<Buffer> => {
  const extent = create(IdExtentSchema, { inside: 0, outside: baseId, count: ID_COUNT });
  const message = create(UserNamespaceSchema, { uids: [extent], gids: [extent] });
  return toImageBytes(UserNamespaceSchema, { magic: MAGIC, messages: [message] });
};
