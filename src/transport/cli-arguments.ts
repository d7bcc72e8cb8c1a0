// The arguments of a program: each entry of the tool gives exactly one, whatever the input holds.
import type { ResolvedCli } from '../resource/resolved-cli.ts'
import { type GoTemplate, parseTemplate } from '../util/go-template/go-template.ts'
import type { Refusal, Send } from './transport.ts'

export type Arguments =
  | { readonly ok: true; readonly args: readonly string[] }
  | { readonly ok: false; readonly refusal: Refusal }

/** As much as Linux takes for one argument, and less than it takes for all with the environment. */
const ARGUMENT_BYTES = 131_071
export const ARGUMENTS_BYTES = 1_048_576
/** Steps of all templates of a call: some tenths of a second, whatever is sent. */
const STEPS = 200_000

/** Keeps the templates of the tools that it is asked about for as long as they are there. */
export function createArguments(): (cli: ResolvedCli, send: Send) => Arguments {
  const parsed = new WeakMap<ResolvedCli, readonly (string | GoTemplate)[]>()

  return (cli, send) => {
    const parts = parsed.get(cli) ?? cli.args.map(read)
    parsed.set(cli, parts)
    const templates = parts.filter((part) => typeof part !== 'string').length
    const maxSteps = Math.ceil(STEPS / Math.max(1, templates))
    const args: string[] = []
    let left = ARGUMENTS_BYTES
    for (const [index, part] of parts.entries()) {
      let text = part
      if (typeof text !== 'string') {
        const rendered = text.render(send.input ?? null, { maxBytes: ARGUMENT_BYTES, maxSteps })
        if (!rendered.ok) return refused(cli, index, rendered.message)
        const problem = problemOf(rendered.text, rendered.fromInput && !cli.allowDash)
        if (problem !== undefined) return refused(cli, index, problem)
        text = rendered.text
      }
      left -= Buffer.byteLength(text) + 1
      if (left < 0) return tooLarge()
      args.push(text)
    }
    return { ok: true, args }
  }
}

function read(text: string): string | GoTemplate {
  if (!text.includes('{{')) return text
  const result = parseTemplate(text)
  // Apply has refused every other.
  if (!result.ok) throw new Error(`a template of the tool cannot be read: ${result.message}`)
  return result.template
}

function problemOf(text: string, dashRefused: boolean): string | undefined {
  if (text.includes('\0')) return 'would hold a NUL, which no argument can carry. Fix: leave it out'
  if (dashRefused && text.startsWith('-')) {
    return 'would begin with -, which programs read as an option. Fix: begin it otherwise; the owner of the tool can declare cli.allow_dash'
  }
  return undefined
}

function refused(cli: ResolvedCli, index: number, message: string): Arguments {
  const field = fieldOf(cli.args[index] ?? '')
  const violation = { path: field, message: `argument ${index + 1} of the program ${message}` }
  return {
    ok: false,
    refusal: {
      kind: 'failure',
      failure: 'input-invalid',
      message: 'the input cannot be made into arguments of the program',
      details: { violations: [violation], argument: index + 1 },
      definite: true,
    },
  }
}

/** As a JSON pointer, of a template that is one field and nothing else before it. */
function fieldOf(template: string): string {
  const found = /^\{\{-?\s*((?:\.[A-Za-z_]\w*)+)\s*(?:\||-?\}\})/.exec(template)
  return found?.[1]?.replaceAll('.', '/') ?? ''
}

function tooLarge(): Arguments {
  return {
    ok: false,
    refusal: {
      kind: 'failure',
      failure: 'input-too-large',
      message: 'the arguments of the program are larger than an operating system takes',
      details: { limit_bytes: ARGUMENTS_BYTES },
      definite: true,
    },
  }
}
