// Help texts, made from what commands declare.
import type { CommandSpec, FlagSpec } from './command.ts'
import { argLabel } from './parse-command-line.ts'

export function usageOf(spec: CommandSpec): string {
  const args = spec.args.map((arg) => (arg.optional ? `[${argLabel(arg)}]` : argLabel(arg)))
  const flags = Object.keys(spec.flags).length > 0 ? ['[flags]'] : []
  return ['writ', spec.name, ...args, ...flags].join(' ')
}

export function flagLabel(name: string, flag: FlagSpec): string {
  const short = flag.short ? `-${flag.short}, ` : ''
  return flag.type === 'boolean' ? `${short}--${name}` : `${short}--${name} ${placeholderOf(flag)}`
}

export function placeholderOf(flag: FlagSpec): string {
  if (flag.placeholder) return flag.placeholder
  return flag.type === 'integer' ? 'NUMBER' : flag.type === 'duration' ? 'DURATION' : 'TEXT'
}

/** The description with what the data says beside it. */
export function flagText(flag: FlagSpec): string {
  const values = flag.values ? ` One of ${flag.values.join(', ')}.` : ''
  const fallback = flag.default === undefined ? '' : ` Default: ${flag.default}.`
  const multiple = flag.multiple ? ' May be repeated.' : ''
  return `${flag.description}${values}${fallback}${multiple}`
}

/** A command as lists show it. */
export interface Listed {
  readonly name: string
  readonly summary: string
}

/** `more` are the commands of two words that begin with the name of this one. */
export function renderHelp(spec: CommandSpec, more: readonly Listed[] = []): string {
  const blocks = [`${spec.summary}.`, ...(spec.details ?? []), `Usage: ${usageOf(spec)}`]
  if (spec.args.length > 0) {
    blocks.push(
      section(
        'Arguments',
        spec.args.map((arg) => [argLabel(arg), arg.description]),
      ),
    )
  }
  const flags = Object.entries(spec.flags).map(
    ([name, flag]) => [flagLabel(name, flag), flagText(flag)] as const,
  )
  blocks.push(section('Flags', [...flags, ['-h, --help', 'Show this help.']]))
  if (more.length > 0) blocks.push(listOf('See also', more))
  if (spec.examples.length > 0) {
    blocks.push(`Examples:\n${spec.examples.map(({ line, does }) => `  # ${does}\n  ${line}`).join('\n')}`)
  }
  return `${blocks.join('\n\n')}\n`
}

export function renderGroup(name: string, commands: readonly Listed[]): string {
  return [
    `Usage: writ ${name} COMMAND [flags]`,
    listOf('Commands', commands),
    `'writ ${name} COMMAND --help' says more about one command.\n`,
  ].join('\n\n')
}

export function renderOverview(commands: readonly Listed[]): string {
  return [
    'Writ runs the tools of AI agents: validated, authorised, sent at most once, and on record.',
    'Usage: writ COMMAND [flags]',
    listOf('Commands', commands),
    [
      'The server is found by WRIT_URL and WRIT_TOKEN, else through the data folder of a server on this machine.',
      "'writ COMMAND --help' says more about one command.",
      '',
    ].join('\n'),
  ].join('\n\n')
}

function listOf(title: string, commands: readonly Listed[]): string {
  return section(
    title,
    commands.map(({ name, summary }) => [name, `${summary}.`]),
  )
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([label]) => label.length))
  return `${title}:\n${rows.map(([label, text]) => `  ${label.padEnd(width)}  ${text}`).join('\n')}`
}
