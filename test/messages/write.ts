/** `npm run docs:messages`: writes docs/messages.md. */
import { writeFileSync } from "node:fs";
import { document, documentFile, stages } from "./document.ts";

writeFileSync(documentFile, document(await stages()));
console.log(`${documentFile}: written`);
