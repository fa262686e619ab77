export { type FolderLock, lockFolder } from "./folder-lock.ts";
