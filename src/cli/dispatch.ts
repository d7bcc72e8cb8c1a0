// One command line from its words to an exit code.
import { ClientError } from '../client/client-error.ts'
import { didYouMean } from '../util/did-you-mean.ts'
import { CliError, EXIT } from './cli-error.ts'
import { COMMANDS } from './command/registry.ts'
import { exitOfClientError } from './exit-of.ts'
import { detailLines, fixOf, violationLines } from './failure-text.ts'
import { renderHelp, renderOverview } from './help.ts'
import { parseCommandLine } from './parse-command-line.ts'
import { clean } from './print.ts'
import type { Terminal } from './terminal.ts'

export async function dispatch(words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await run(words, terminal)
  } catch (error) {
    if (error instanceof CliError) {
      say(terminal, error.message, error.lines, error.fix)
      return error.exit
    }
    if (error instanceof ClientError) {
      const lines = [
        ...violationLines(error.violations, '(the whole document)'),
        ...detailLines(error.details),
      ]
      say(terminal, error.message, lines, fixOf(error, terminal))
      return exitOfClientError(error)
    }
    reportBug(terminal, error)
    return EXIT.bug
  }
}

async function run(words: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = words
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    return help(rest, terminal, name === undefined)
  }
  const entry = find(name === '--version' || name === '-V' ? 'version' : name)
  const { command } = await entry.load()
  const { help: asked, flags, args } = parseCommandLine(command, rest)
  if (asked) {
    terminal.out(renderHelp(command))
    return EXIT.ok
  }
  return command.run({ flags, args, terminal })
}

async function help(words: readonly string[], terminal: Terminal, unasked: boolean): Promise<number> {
  const [name] = words
  if (name !== undefined) {
    terminal.out(renderHelp((await find(name).load()).command))
    return EXIT.ok
  }
  const overview = renderOverview(
    Object.entries(COMMANDS).map(([command, { summary }]) => ({ name: command, summary })),
  )
  // Nothing was asked for: help is then a message, and the line was not a usable one.
  if (unasked) terminal.err(overview)
  else terminal.out(overview)
  return unasked ? EXIT.usage : EXIT.ok
}

function find(name: string) {
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (entry) return entry
  const close = didYouMean(name, Object.keys(COMMANDS))
  throw new CliError(`there is no command '${name}'`, {
    exit: EXIT.usage,
    fix: close ? `did you mean 'writ ${close}'?` : "see 'writ --help'",
  })
}

function say(terminal: Terminal, message: string, lines: readonly string[], fix: string | undefined): void {
  terminal.err(`writ: ${clean(message)}\n`)
  for (const line of lines) terminal.err(`  ${clean(line)}\n`)
  if (fix) terminal.err(`Fix: ${clean(fix)}\n`)
}

export function reportBug(terminal: Terminal, error: unknown): void {
  terminal.err(`writ: this is a bug in writ.\n${error instanceof Error ? error.stack : String(error)}\n`)
  terminal.err(
    "Fix: report it to the maintainers with the text above, the command line, and what 'writ version' prints.\n",
  )
}
