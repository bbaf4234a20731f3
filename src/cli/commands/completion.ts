/**
 * `perpwatch completion`: completions for a shell. The shell's script calls the program itself for each completion, so
 * that commands, endpoints, parameters and wallets are those of this version and configuration.
 */
import { Argument, type Command } from "commander";
import { type Cli, CommandFailed, declare, defaultConfig } from "../command.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

const scripts: Readonly<Record<Shell, string>> = {
  bash: `_perpwatch() {
  local IFS=$'\\n'
  COMPREPLY=($(perpwatch complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _perpwatch perpwatch
`,
  zsh: `#compdef perpwatch
_perpwatch() {
  local -a found
  found=(\${(f)"$(perpwatch complete-words -- "\${(@)words[2,CURRENT]}" 2>/dev/null | tr '\\t' ':')"})
  if (( \${#found} )); then _describe perpwatch found; else _files; fi
}
compdef _perpwatch perpwatch
`,
  fish: `complete -c perpwatch -a '(perpwatch complete-words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
};

export function completionCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "completion",
    summary: "print what makes your shell complete commands, endpoints and their parameters",
    about:
      'For the program under the name perpwatch (npm link, or a global install). bash: eval "$(perpwatch completion bash)" ' +
      "in ~/.bashrc; zsh: the same with zsh in ~/.zshrc; fish: perpwatch completion fish > ~/.config/fish/completions/perpwatch.fish",
    examples: ["completion bash >> ~/.bashrc"],
    needsNoConfig: true,
  })
    .addArgument(new Argument("<shell>", "yours").choices([...shells]))
    .action((shell: string) => {
      const script = scripts[shell as Shell];
      if (script === undefined) throw new CommandFailed(`there is no script for ${shell}`, 2);
      cli.out.write(script);
    });
  program
    .command("complete-words", { hidden: true })
    .helpOption(false)
    .argument("[words...]")
    .action(async (words: string[]) => {
      const found = await candidates(program, cli, words);
      const wanted = words.at(-1) ?? "";
      for (const { word, about } of found)
        if (word.startsWith(wanted)) cli.out.write(about === "" ? `${word}\n` : `${word}\t${about}\n`);
    });
}

interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** @param words the typed words; the last one is incomplete, possibly empty */
async function candidates(
  program: Command,
  cli: Cli,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  let command = program;
  const rest: string[] = [];
  for (const word of words.slice(0, -1)) {
    const below: Command | undefined =
      rest.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (below === undefined) rest.push(word);
    else command = below;
  }
  const before = rest.at(-1) ?? "";
  if (before === "--wallet") return walletNames(cli, words);
  const below = command.commands
    .filter((one) => one.name() !== "help" && !isHidden(one))
    .map((one) => ({ word: one.name(), about: one.summary() }));
  const options = command.options
    .filter((option) => !option.hidden && option.long !== undefined)
    .map((option) => ({ word: option.long!, about: option.description }));
  const isApi = command.name() === "api" || command.parent?.name() === "api";
  if (!isApi) return [...(rest.length === 0 ? below : []), ...options];
  const { allEndpoints } = await import("../../contract/index.ts");
  const named = allEndpoints.find((one) => one.name === rest.find((word) => !word.startsWith("-")));
  const names = allEndpoints.map((one) => ({ word: one.name, about: one.summary }));
  if (named === undefined) {
    if (command.name() === "describe") return [...names, ...options];
    return command.name() === "api" ? [...below, ...names] : options;
  }
  if (command.name() === "describe") return options;
  const { ownOptions } = await import("./api/arguments.ts");
  const param = before.startsWith("--") ? named.params[before.slice(2)] : undefined;
  if (param?.choices) return param.choices.map((word) => ({ word, about: "" }));
  if (param?.type === "boolean") return ["true", "false"].map((word) => ({ word, about: "" }));
  if (param !== undefined) return [];
  const params = Object.entries(named.params).map(([name, one]) => ({
    word: `--${name}`,
    about: one.description,
  }));
  return [...params, ...ownOptions.map((name) => ({ word: `--${name}`, about: "" }))];
}

function isHidden(command: Command): boolean {
  return (command as unknown as { readonly _hidden?: boolean })._hidden === true;
}

/** The wallets of the configuration named before, or of the default one; none without a configuration. */
async function walletNames(cli: Cli, words: readonly string[]): Promise<readonly Candidate[]> {
  const at = words.findIndex((word) => word === "--config" || word === "-c");
  try {
    const { knownWallets } = await import("../configuration.ts");
    const known = await knownWallets(
      { ...cli, err: silent(cli) },
      at < 0 ? defaultConfig : (words[at + 1] ?? defaultConfig),
    );
    return known.map(({ name }) => ({ word: name, about: "" }));
  } catch {
    return [];
  }
}

/** Nothing else may be printed during a completion. */
function silent(cli: Cli): Cli["err"] {
  return Object.assign(Object.create(cli.err) as Cli["err"], { write: () => true });
}
