// A command as data: its name, arguments and flags. Parsing, help, completion and the reference page all come from this.
import type { Terminal } from './terminal.ts'

export interface FlagSpec {
  /** `duration` is written 500ms, 5s, 2m or 1h and read as milliseconds. */
  readonly type: 'string' | 'boolean' | 'integer' | 'duration'
  readonly description: string
  /** One letter. */
  readonly short?: string
  readonly default?: string | number
  /** The only values allowed. */
  readonly values?: readonly string[]
  /** May be given several times. */
  readonly multiple?: true
  /** What help shows for the value. */
  readonly placeholder?: string
  /** What a shell completes the value with. */
  readonly completes?: 'file' | 'folder'
}

export interface ArgSpec {
  readonly name: string
  readonly description: string
  readonly optional?: true
  /** The last one: takes all words that are left, at least one. */
  readonly repeats?: true
  readonly values?: readonly string[]
  /** Words that are taken beside `values`, and not shown. */
  readonly also?: readonly string[]
  /** What a shell completes it with. */
  readonly completes?: 'file'
}

type FlagValue<F extends FlagSpec> = F['type'] extends 'boolean'
  ? boolean
  : F['type'] extends 'string'
    ? F extends { readonly values: readonly (infer V)[] }
      ? V
      : string
    : number

/** A flag without a default may be absent; one that may be repeated is a list. */
export type FlagValues<Flags extends Readonly<Record<string, FlagSpec>>> = {
  readonly [K in keyof Flags]: Flags[K] extends { readonly multiple: true }
    ? readonly FlagValue<Flags[K]>[]
    : Flags[K] extends { readonly default: string | number }
      ? FlagValue<Flags[K]>
      : Flags[K]['type'] extends 'boolean'
        ? boolean
        : FlagValue<Flags[K]> | undefined
}

export type ArgValues<Args extends readonly ArgSpec[]> = {
  readonly [A in Args[number] as A['name']]: A extends { readonly repeats: true }
    ? readonly string[]
    : A extends { readonly optional: true }
      ? string | undefined
      : string
}

/** Arguments as they were read, by name. */
export type ReadArgs = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Example {
  readonly line: string
  readonly does: string
}

export interface CommandSpec<
  Flags extends Readonly<Record<string, FlagSpec>> = Readonly<Record<string, FlagSpec>>,
  Args extends readonly ArgSpec[] = readonly ArgSpec[],
> {
  readonly name: string
  /** One line, without a full stop. */
  readonly summary: string
  /** Paragraphs for help and the reference page. */
  readonly details?: readonly string[]
  readonly args: Args
  readonly flags: Flags
  readonly examples: readonly Example[]
}

/** What one run of a command is given. */
export interface Invocation<Flags, Args> {
  readonly flags: Flags
  readonly args: Args
  readonly terminal: Terminal
}

/** A command with its types forgotten, as the table of commands holds it. `run` gives the exit code (S32). */
export interface Command extends CommandSpec {
  run(invocation: {
    readonly flags: Readonly<Record<string, unknown>>
    readonly args: ReadArgs
    readonly terminal: Terminal
  }): Promise<number>
}

/** Ties the types of `run` to what the command declares; the parser keeps that promise. */
export function defineCommand<
  const Flags extends Readonly<Record<string, FlagSpec>>,
  const Args extends readonly ArgSpec[],
>(
  spec: CommandSpec<Flags, Args> & {
    run(invocation: Invocation<FlagValues<Flags>, ArgValues<Args>>): Promise<number>
  },
): Command {
  return spec as unknown as Command
}

export const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/** For every command that shows something a program could read. */
export const OUTPUT_FLAG = {
  output: {
    type: 'string',
    short: 'o',
    values: OUTPUT_FORMATS,
    default: 'table',
    description: 'How to print the result.',
    placeholder: 'FORMAT',
  },
} as const satisfies Record<string, FlagSpec>

/** For every command that talks to a server. */
export const SERVER_FLAGS = {
  data: {
    type: 'string',
    description: 'Data folder of the server to use when WRIT_URL is not set. Default: WRIT_DATA, else .writ.',
    placeholder: 'FOLDER',
    completes: 'folder',
  },
  namespace: {
    type: 'string',
    short: 'n',
    description: 'Namespace to work in; that of the token when absent.',
    placeholder: 'NAME',
  },
} as const satisfies Record<string, FlagSpec>
