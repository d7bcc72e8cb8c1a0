// From the words of a command line to the values a command declared, or one clear refusal.
import { parseArgs } from 'node:util'
import { didYouMean } from '../util/did-you-mean.ts'
import { parseDuration } from '../util/duration.ts'
import { usageError } from './cli-error.ts'
import type { ArgSpec, CommandSpec, FlagSpec, ReadArgs } from './command.ts'

export interface ParsedLine {
  readonly help: boolean
  readonly flags: Readonly<Record<string, unknown>>
  readonly args: ReadArgs
}

type Flags = Readonly<Record<string, FlagSpec>>

export function parseCommandLine(spec: CommandSpec, words: readonly string[]): ParsedLine {
  const { tokens } = parseArgs({
    args: [...words],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      ...Object.fromEntries(
        Object.entries(spec.flags).map(([name, flag]) => [
          name,
          {
            type: flag.type === 'boolean' ? ('boolean' as const) : ('string' as const),
            ...(flag.short === undefined ? {} : { short: flag.short }),
          },
        ]),
      ),
    },
  })
  const given = new Map<string, unknown[]>()
  const positionals: string[] = []
  let help = false
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    if (token.name === 'help') {
      help = true
      continue
    }
    const value = readFlag(spec, token.name, token.rawName, token.value, token.inlineValue === true)
    const list = given.get(token.name) ?? []
    if (list.length > 0 && !spec.flags[token.name]?.multiple) {
      throw usageError(`${token.rawName} is given twice`, 'give it once')
    }
    given.set(token.name, [...list, value])
  }
  // Help is asked for by people who do not know yet what is required.
  if (help) return { help, flags: {}, args: {} }
  return { help, flags: withDefaults(spec.flags, given), args: readArgs(spec, positionals) }
}

function readFlag(
  spec: CommandSpec,
  name: string,
  rawName: string,
  value: string | undefined,
  inline: boolean,
): unknown {
  const flag = Object.hasOwn(spec.flags, name) ? spec.flags[name] : undefined
  if (flag === undefined) {
    const close = didYouMean(name, [...Object.keys(spec.flags), 'help'])
    throw usageError(
      `'writ ${spec.name}' has no flag ${rawName}`,
      close && rawName.startsWith('--') ? `did you mean --${close}?` : `see 'writ ${spec.name} --help'`,
    )
  }
  if (flag.type === 'boolean') {
    if (value === undefined) return true
    throw usageError(`${rawName} takes no value`, `write ${rawName} alone, or leave it out`)
  }
  // parseArgs takes whatever follows: a forgotten value must not swallow the next flag.
  if (value === undefined || value === '' || (!inline && value.length > 1 && value.startsWith('-'))) {
    throw usageError(`${rawName} needs a value`, `write --${name}=${flag.placeholder ?? 'VALUE'}`)
  }
  return readValue(flag, rawName, value)
}

function readValue(flag: FlagSpec, rawName: string, value: string): unknown {
  if (flag.values && !flag.values.includes(value)) {
    const close = didYouMean(value, flag.values)
    throw usageError(
      `${rawName} is '${value}', but must be one of ${flag.values.join(', ')}`,
      close ? `did you mean '${close}'?` : `use one of ${flag.values.join(', ')}`,
    )
  }
  if (flag.type === 'integer') {
    if (!/^\d{1,15}$/.test(value))
      throw usageError(`${rawName} is '${value}', but must be a whole number`, 'give digits only')
    return Number(value)
  }
  if (flag.type === 'duration') {
    const ms = parseDuration(value)
    if (ms === undefined)
      throw usageError(`${rawName} is '${value}', which is no duration`, 'write 500ms, 5s, 2m or 1h')
    return ms
  }
  return value
}

function withDefaults(flags: Flags, given: ReadonlyMap<string, unknown[]>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => {
      const values = given.get(name) ?? []
      if (flag.multiple) return [name, values]
      return [name, values[0] ?? (flag.type === 'boolean' ? false : flag.default)]
    }),
  )
}

function readArgs(spec: CommandSpec, positionals: readonly string[]): ReadArgs {
  const extra = positionals[spec.args.length]
  if (extra !== undefined && spec.args.at(-1)?.repeats !== true) {
    throw usageError(`'writ ${spec.name}' does not take '${extra}'`, `see 'writ ${spec.name} --help'`)
  }
  return Object.fromEntries(
    spec.args.map((arg, index) => {
      const first = readArg(spec, arg, positionals[index])
      return [arg.name, arg.repeats === true ? positionals.slice(index) : first]
    }),
  )
}

function readArg(spec: CommandSpec, arg: ArgSpec, value: string | undefined): string | undefined {
  if (value === undefined || value === '') {
    if (arg.optional) return undefined
    throw usageError(
      `'writ ${spec.name}' needs ${argLabel(arg)}: ${arg.description}`,
      `see 'writ ${spec.name} --help'`,
    )
  }
  if (arg.values && !arg.values.includes(value) && !arg.also?.includes(value)) {
    const close = didYouMean(value, [...arg.values, ...(arg.also ?? [])])
    throw usageError(
      `'writ ${spec.name}' does not know '${value}'`,
      close ? `did you mean '${close}'?` : `use ${arg.values.join(' or ')}`,
    )
  }
  return value
}

/** How an argument is shown: literal words as they are, others in capitals. */
export function argLabel(arg: ArgSpec): string {
  return arg.values?.join('|') ?? `${arg.name.toUpperCase()}${arg.repeats === true ? '...' : ''}`
}
