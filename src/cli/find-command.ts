// Which command the words of a line name. A command has one word or two: `calls`, `calls settle`.
import { didYouMean } from '../util/did-you-mean.ts'
import { CliError, EXIT } from './cli-error.ts'
import type { CommandEntry } from './command/registry.ts'

export type Commands = Readonly<Record<string, CommandEntry>>

export type FoundCommand =
  | { readonly kind: 'command'; readonly entry: CommandEntry; readonly rest: readonly string[] }
  /** Only the first of two words, and no command is called that alone. */
  | { readonly kind: 'group'; readonly name: string; readonly rest: readonly string[] }

/** The second words of the commands that begin with `first`. */
export function subcommandsOf(commands: Iterable<string>, first: string): readonly string[] {
  return [...commands].flatMap((name) => {
    const [head, sub] = name.split(' ')
    return head === first && sub !== undefined ? [sub] : []
  })
}

export function findCommand(commands: Commands, words: readonly string[]): FoundCommand {
  const [first = '', second] = words
  const both = second === undefined ? undefined : get(commands, `${first} ${second}`)
  if (both) return { kind: 'command', entry: both, rest: words.slice(2) }
  const subs = subcommandsOf(Object.keys(commands), first)
  const alone = get(commands, first)
  const isWord = second !== undefined && !second.startsWith('-')
  const close = isWord ? didYouMean(second, subs) : undefined
  if (isWord && subs.length > 0 && (alone === undefined || close !== undefined)) {
    throw new CliError(`'writ ${first}' does not know '${second}'`, {
      exit: EXIT.usage,
      fix: close === undefined ? `use one of ${subs.join(', ')}` : `did you mean 'writ ${first} ${close}'?`,
    })
  }
  if (alone) return { kind: 'command', entry: alone, rest: words.slice(1) }
  if (subs.length > 0) return { kind: 'group', name: first, rest: words.slice(1) }
  const meant = didYouMean(first, new Set(Object.keys(commands).map((name) => name.split(' ', 1)[0] ?? name)))
  throw new CliError(`there is no command '${first}'`, {
    exit: EXIT.usage,
    fix: meant ? `did you mean 'writ ${meant}'?` : "see 'writ --help'",
  })
}

function get(commands: Commands, name: string): CommandEntry | undefined {
  return Object.hasOwn(commands, name) ? commands[name] : undefined
}
