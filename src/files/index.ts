/** The door of this room: owner and mode of whatever perpwatch reads, writes or speaks through. */
export { distrust, distrusted, distrustedWay, isRoot, shellWord, type Wish } from "./trust.ts";
export { userName } from "./user.ts";
