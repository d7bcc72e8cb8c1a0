// The reference page of the commands, made from what they declare.
import type { CommandSpec } from './command.ts'
import { flagLabel, flagText, usageOf } from './help.ts'
import { argLabel } from './parse-command-line.ts'

export function renderCliDoc(commands: readonly CommandSpec[]): string {
  const list = commands.map(
    ({ name, summary }) => `| [\`writ ${name}\`](#writ-${name.replaceAll(' ', '-')}) | ${cell(summary)} |`,
  )
  return `<!-- Made by scripts/cli-doc.ts from src/cli/command. Do not edit by hand. -->

# Commands

| command | what it does |
|---|---|
${list.join('\n')}

\`writ COMMAND --help\` prints what is on this page. Results go to stdout, everything said beside them to stderr. With
\`-o json\` or \`-o yaml\` the result is data. Progress is shown on a terminal only; \`NO_COLOR\` is respected.

## Which server

\`WRIT_URL\` and \`WRIT_TOKEN\` name a server and the token to send. Without \`WRIT_URL\`, commands use the server that runs on
the data folder: \`--data\`, else \`WRIT_DATA\`, else \`.writ\`. Its file \`server.json\` holds the address; its file
\`admin-token\` the token, unless \`WRIT_TOKEN\` is set. The token of a server is never given on
a command line, where others could see it.

## Exit codes

| code | meaning |
|---|---|
| 0 | it worked |
| 1 | the server could not be started, or a requirement of the conformance suite failed |
| 2 | the command line is wrong |
| 3 | the request or the manifest is invalid |
| 4 | denied |
| 5 | open: the call runs, waits for approval, or is prepared |
| 6 | failed, and may be run again without harm; a call with the same \`--key\` or \`--request-id\` |
| 7 | failed; for \`writ up\`: its store failed, or another replica has ended it |
| 8 | unknown: the effect may have happened |
| 9 | canceled |
| 70 | a bug in Writ |

${commands.map(renderCommand).join('\n')}`
}

function renderCommand(spec: CommandSpec): string {
  const blocks = [
    `## writ ${spec.name}`,
    `${spec.summary}.`,
    ...(spec.details ?? []),
    `\`\`\`\n${usageOf(spec)}\n\`\`\``,
  ]
  if (spec.args.length > 0) {
    const rows = spec.args.map(
      (arg) => `| \`${cell(argLabel(arg))}\` | ${cell(arg.description)}${arg.optional ? ' Optional.' : ''} |`,
    )
    blocks.push(['| argument | meaning |', '|---|---|', ...rows].join('\n'))
  }
  const flags = Object.entries(spec.flags)
  if (flags.length > 0) {
    const rows = flags.map(
      ([name, flag]) => `| \`${cell(flagLabel(name, flag))}\` | ${cell(flagText(flag))} |`,
    )
    blocks.push(['| flag | meaning |', '|---|---|', ...rows].join('\n'))
  }
  if (spec.examples.length > 0) {
    blocks.push(`\`\`\`sh\n${spec.examples.map(({ line, does }) => `# ${does}\n${line}`).join('\n')}\n\`\`\``)
  }
  return `${blocks.join('\n\n')}\n`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
