/** README's section on trying rules against the simulator, block by block as a reader does it. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { desk } from "../cli/run.ts";
import { type Program, startProgram } from "../support/program.ts";

const readme = readFileSync(path.join(import.meta.dirname, "..", "..", "README.md"), "utf8");
const section = readme.split("\n## Try your own rules against the simulator\n")[1]!.split("\n## ")[0]!;

/** Without the indentation of the list that they stand in. */
function blocks(language: string): readonly string[] {
  const found = section.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, "gm"));
  return [...found].map(([, indent, text]) => text!.replaceAll(new RegExp(`^${indent}`, "gm"), "").trim());
}

/** The same text, whatever its percentages. */
const alike = (line: string, told: string) => {
  const [text, wanted] = [line, told].map((one) => one.replaceAll(/[\d.]+%/g, "%"));
  return text!.includes(wanted!);
};

test("an own rule fires and ends at a simulated exchange, by copy and paste", async () => {
  using at = desk();
  const [simulate, start, moves] = blocks("sh");
  const words = (line: string) => line.replace(/^perpwatch /, "").split(" ");
  await using simulator = startProgram([...words(simulate!), "--port", "0"], { folder: at.folder });
  const { url } = JSON.parse(await simulator.line((line) => line.startsWith("{"))) as { url: string };
  const here = (text: string) => text.replaceAll("http://127.0.0.1:8899", url);
  mkdirSync(path.join(at.folder, "my-rules"));
  for (const text of blocks("yaml")) at.write(/^# (\S+)/.exec(text)![1]!, here(text));
  await using daemon: Program = startProgram(words(start!), { folder: at.folder });
  await daemon.line((line) => line.includes("signed in"));
  const call = (line: string) => promisify(execFile)("sh", ["-c", `${line} --fail --silent`]);
  for (const line of here(moves!).split("\n")) await call(line);
  const [fired, resolved, ...more] = blocks("text")[0]!.split("\n");
  expect(more).toEqual([]);
  await daemon.line((line) => alike(line, fired!));
  await call(
    here(moves!)
      .split("\n")
      .find((line) => line.includes("mark-price"))!
      .replace("120", "150"),
  );
  await daemon.line((line) => alike(line, resolved!), 90_000);
}, 150_000);
