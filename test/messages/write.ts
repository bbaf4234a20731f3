/** `npm run docs:messages`: writes docs/messages.md. */
import { writeFileSync } from "node:fs";
import { document, documentFile, stages } from "./document.ts";
import { otherEnds } from "./ends.ts";
import { sentOfIncident } from "./incident.ts";

writeFileSync(documentFile, document(await stages(), otherEnds(), await sentOfIncident()));
console.log(`${documentFile}: written`);
