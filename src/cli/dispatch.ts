// One command line from its words to an exit code.
import { ClientError } from '../client/client-error.ts'
import { CliError, EXIT } from './cli-error.ts'
import { COMMANDS } from './command/registry.ts'
import type { CommandSpec } from './command.ts'
import { exitOfClientError } from './exit-of.ts'
import { detailLines, fixOf, violationLines } from './failure-text.ts'
import { findCommand, subcommandsOf } from './find-command.ts'
import { type Listed, renderGroup, renderHelp, renderOverview } from './help.ts'
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
      // A 404 of a resource has no row of its own.
      const row = error.failure === undefined || error.status === 404 ? [] : [`failure: ${error.failure}`]
      const lines = [
        ...row,
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
  const asVersion = name === '--version' || name === '-V'
  const found = findCommand(COMMANDS, asVersion ? ['version', ...rest] : words)
  if (found.kind === 'group') return groupHelp(found.name, terminal, found.rest.length === 0)
  const { command } = await found.entry.load()
  const { help: asked, flags, args } = parseCommandLine(command, found.rest)
  if (asked) {
    terminal.out(helpOf(command))
    return EXIT.ok
  }
  return command.run({ flags, args, terminal })
}

async function help(words: readonly string[], terminal: Terminal, unasked: boolean): Promise<number> {
  if (words.length > 0) {
    const found = findCommand(COMMANDS, words)
    if (found.kind === 'group') return groupHelp(found.name, terminal, false)
    terminal.out(helpOf((await found.entry.load()).command))
    return EXIT.ok
  }
  const overview = renderOverview(listed(Object.keys(COMMANDS)))
  // Nothing was asked for: help is then a message, and the line was not a usable one.
  if (unasked) terminal.err(overview)
  else terminal.out(overview)
  return unasked ? EXIT.usage : EXIT.ok
}

function groupHelp(name: string, terminal: Terminal, unasked: boolean): number {
  const text = renderGroup(name, subcommandsIn(name))
  if (unasked) terminal.err(text)
  else terminal.out(text)
  return unasked ? EXIT.usage : EXIT.ok
}

function helpOf(command: CommandSpec): string {
  return renderHelp(command, subcommandsIn(command.name))
}

function subcommandsIn(name: string): readonly Listed[] {
  return listed(subcommandsOf(Object.keys(COMMANDS), name).map((sub) => `${name} ${sub}`))
}

function listed(names: readonly string[]): readonly Listed[] {
  return names.map((name) => ({ name, summary: COMMANDS[name]?.summary ?? '' }))
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
