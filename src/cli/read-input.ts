// The input of a call from the command line: JSON text, a file, standard input, and single fields on top.
import { isJsonObject, type Json, type Violation } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { CliError, EXIT, usageError } from './cli-error.ts'
import type { FlagSpec } from './command.ts'
import { readLocalFile } from './read-file.ts'
import type { Terminal } from './terminal.ts'

export const INPUT_FLAGS = {
  input: {
    type: 'string',
    description: 'The input as JSON text; - reads standard input.',
    placeholder: 'JSON',
  },
  'input-file': {
    type: 'string',
    description: 'A file with the input as JSON; - reads standard input.',
    placeholder: 'FILE',
    completes: 'file',
  },
  set: {
    type: 'string',
    multiple: true,
    description:
      'One field of the input, over the rest of it. A dot goes one level down. The value is JSON where it is JSON, else text.',
    placeholder: 'KEY=VALUE',
  },
} as const satisfies Record<string, FlagSpec>

/** Past this a file on disk is surely not meant. */
export const MAX_INPUT_BYTES = 64 * 1024 * 1024

export interface InputFlags {
  readonly input: string | undefined
  readonly 'input-file': string | undefined
  readonly set: readonly string[]
}

/** Undefined when nothing was given: the call then has no input at all. */
export async function readInput(
  terminal: Terminal,
  flags: InputFlags,
  dash: boolean,
): Promise<Json | undefined> {
  const given = [flags.input, flags['input-file'], dash ? '-' : undefined].filter(
    (source) => source !== undefined,
  )
  if (given.length > 1) throw usageError('the input is given twice', 'use one of --input, --input-file and -')
  const base = await readBase(terminal, flags, dash)
  if (flags.set.length === 0) return base
  if (base !== undefined && !isJsonObject(base)) {
    throw usageError('--set needs an input that is a JSON object', 'leave --set out, or give an object')
  }
  return applySets(base ?? {}, flags.set)
}

async function readBase(terminal: Terminal, flags: InputFlags, dash: boolean): Promise<Json | undefined> {
  const { input, 'input-file': file } = flags
  if (dash || input === '-' || file === '-') {
    return parseInput('standard input', await terminal.readIn(MAX_INPUT_BYTES))
  }
  if (input !== undefined) return parseInput('--input', input)
  if (file !== undefined) return parseInput(file, readLocalFile(terminal.cwd, file, MAX_INPUT_BYTES))
  return undefined
}

/** JSON that a tool may be given, or a refusal that names `source`. */
export function parseInput(source: string, text: string | Uint8Array): Json {
  const parsed = parseStrictJson(text)
  if (parsed.ok) return parsed.value
  throw new CliError(`${source} is not JSON that a tool can be given`, {
    exit: EXIT.invalid,
    lines: parsed.violations.map(
      ({ path, message }: Violation) => `${path === '' ? source : path} ${message}`,
    ),
    fix: `give one JSON document, such as '{"city": "Oslo"}'`,
  })
}

type Draft = Record<string, Json>

function applySets(base: Json, sets: readonly string[]): Json {
  const draft = structuredClone(base) as Draft
  for (const text of sets) {
    const at = text.indexOf('=')
    if (at < 1) throw usageError(`--set is '${text}', but must be KEY=VALUE`, 'write it like --set city=Oslo')
    setField(draft, text.slice(0, at), readValue(text.slice(0, at), text.slice(at + 1)))
  }
  return draft
}

/** `a.b` goes one level down; `\.` is a dot of the name itself. */
function setField(draft: Draft, key: string, value: Json): void {
  const path = key.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'))
  const last = path.pop() ?? ''
  let at = draft
  for (const [index, part] of [...path, last].entries()) {
    if (part === '' || part === '__proto__' || part === 'constructor' || part === 'prototype') {
      throw usageError(
        `--set ${key} has a name that no input may have`,
        'use plain field names, with dots between levels',
      )
    }
    if (index === path.length) break
    const next = Object.hasOwn(at, part) ? at[part] : {}
    if (!isJsonObject(next)) {
      throw usageError(
        `--set ${key} goes into '${part}', which is not an object`,
        'set the whole field, as JSON',
      )
    }
    at[part] = next
    at = next as Draft
  }
  at[last] = value
}

function readValue(key: string, text: string): Json {
  const parsed = parseStrictJson(text)
  if (parsed.ok) return parsed.value
  if (parsed.kind === 'unreadable') return text
  throw new CliError(`--set ${key} is JSON that no tool may be given`, {
    exit: EXIT.invalid,
    lines: parsed.violations.map(({ path, message }) => `${path === '' ? key : path} ${message}`),
    fix: `to send it as text, quote it: --set '${key}="…"'`,
  })
}
