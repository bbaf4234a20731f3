/** Public interface of this folder: checks owner and mode of everything that perpwatch reads, writes or connects to. */
export { replaceFile } from "./replace.ts";
export { readTextFile, type TextFile, type TextFileLimits } from "./text-file.ts";
export { distrust, distrusted, distrustedWay, isRoot, shellWord, type TrustOptions } from "./trust.ts";
export { userName } from "./user.ts";
