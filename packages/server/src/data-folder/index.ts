export {
  dataFolderDefault,
  defaultDataFolder,
  openDataFolder,
  ROOT_DATA_FOLDER,
  readServerAddress,
  type ServerAddress,
  writeServerAddress,
} from './data-folder.ts';
export { findUse } from './folder-use.ts';
