/** The finder of secrets finds each of them in each encoding in which a server may repeat it, wherever that stands. */
import { expect, test } from "vitest";
import { canary, encodings, SecretFinder } from "./secret-finder.ts";

const places: Readonly<Record<string, (text: string) => string>> = {
  "a text": (text) => `before ${text} after`,
  JSON: (text) => JSON.stringify({ error: `before ${text} after` }),
  "JSON in JSON": (text) => JSON.stringify({ body: JSON.stringify({ error: `before ${text}` }) }),
  bytes: (text) => `\0\u00ff${text}\0`,
};

test.each(Object.keys(encodings).flatMap((encoding) => Object.keys(places).map((at) => [encoding, at])))(
  "a secret as %s in %s",
  (encoding, at) => {
    const finder = new SecretFinder();
    const secret = canary(40);
    finder.add("it", secret);
    finder.add("another", canary(40));
    for (const told of [secret, secret.slice(7, 30)]) {
      const text = places[at!]!(encodings[encoding!]!(told));
      const found = finder.leaks(at === "bytes" ? Buffer.from(text, "latin1") : text);
      expect(found.map((name) => name.split(" ")[0])).toContain("it");
      expect(found.join(" ")).not.toContain("another");
    }
    expect(finder.leaks(places[at!]!(encodings[encoding!]!(canary(40))))).toEqual([]);
  },
);
