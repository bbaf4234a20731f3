/** The door of this room: owner and mode of whatever perpwatch reads, writes or speaks through. */
export { changeAlone } from "./lock.ts";
export { replaceFile } from "./replace.ts";
export { readTextFile, type TextFile, type TextFileLimits } from "./text-file.ts";
export { distrust, distrusted, distrustedWay, isRoot, shellWord, type TrustOptions } from "./trust.ts";
export { userName } from "./user.ts";
