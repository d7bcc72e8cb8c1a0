// What the end of a program means.
import type { ResolvedCli } from '../resource/resolved-cli.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import type { Json, JsonObject, Violation } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { ARGUMENTS_BYTES } from './cli-arguments.ts'
import { toolRefusal } from './envelope-reply.ts'
import type { ProgramEnd } from './program.ts'
import type { Refusal, Reply, Send } from './transport.ts'

/** Of what a failed program wrote, where that is its output. */
const SHOWN_CHARACTERS = 2_048

type Exited = Extract<ProgramEnd, { kind: 'exit' }>

export function cliReply(end: ProgramEnd, cli: ResolvedCli, send: Send): Reply {
  if (end.kind === 'not-started') return notStarted(end.code, cli)
  if (end.kind === 'too-large') {
    const details = { limit_bytes: send.tool.limits.outputBytes }
    return { kind: 'failure', failure: 'output-too-large', details, definite: false }
  }
  if (end.kind === 'signal') return killed(end.signal, end.stderr, cli, send)
  return end.code === 0 ? success(end, cli, send.operation) : failed(end, cli, send)
}

/** Nothing ran, so nothing happened. */
function notStarted(code: string, cli: ResolvedCli): Refusal {
  const base = { kind: 'failure', definite: true, details: { error: code } } as const
  if (code === 'E2BIG') {
    const message =
      'the arguments and the environment of the program are larger than the operating system takes'
    return { ...base, failure: 'input-too-large', message, details: { limit_bytes: ARGUMENTS_BYTES } }
  }
  if (SHORT.has(code)) {
    const message = `this machine could not start one more program (${code})`
    return { ...base, failure: 'resource-limit', message, transient: true }
  }
  const message = `spec.cli: '${cli.command}' could not be started in ${cli.workingDir} (${code}). Fix: correct the program, its rights or working_dir`
  return { ...base, failure: 'config-invalid', message, details: { error: code, path: 'spec.cli' } }
}

/** What the machine has too little of, for now. */
const SHORT: ReadonlySet<string> = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'])
/** Sent by the system to who uses more than it may. */
const LIMITS: ReadonlySet<string> = new Set(['SIGXCPU', 'SIGXFSZ'])

function killed(signal: string, stderr: Uint8Array, cli: ResolvedCli, send: Send): Refusal {
  return {
    kind: 'failure',
    failure: LIMITS.has(signal) ? 'resource-limit' : 'tool-crashed',
    message: `the program was ended by ${signal}${signal === 'SIGKILL' ? ', as when memory runs out' : ''}`,
    details: { signal, ...shown(stderr, cli, send) },
    definite: false,
  }
}

/** A code that nobody has declared says only that it failed: it is not tried again by itself. */
function failed({ code, stderr }: Exited, cli: ResolvedCli, send: Send): Refusal {
  const declared = cli.exitCodes[code]
  const message = `the program ended with exit code ${code}`
  const details: JsonObject = { exit_code: code, ...shown(stderr, cli, send) }
  if (declared === undefined)
    return {
      kind: 'failure',
      failure: 'tool-crashed',
      message,
      details,
      definite: false,
      toolRetryable: false,
    }
  const { effect, retryable, code: meaning } = declared
  const said = { kind: 'failure', status: 'error', dialect: 'v1', code: meaning, message, retryable } as const
  return toolRefusal({ ...said, harmless: effect === 'none', details }, send.operation)
}

/**
 * What is no output of the tool may hold anything, and is shown to nobody. Secrets are taken out before the cut: half of one
 * would not be found after it.
 */
function shown(stderr: Uint8Array, { output }: ResolvedCli, { credentials }: Send): JsonObject {
  if (output === 'stdout' || stderr.length === 0) return {}
  const text = Buffer.from(stderr).toString('utf8')
  const clean = credentials?.redactor.text(text) ?? text
  return { stderr: clean.slice(-SHOWN_CHARACTERS).toWellFormed() }
}

function success({ stdout, stderr }: Exited, cli: ResolvedCli, operation: ResolvedOperation): Reply {
  const bytes = stdout.length + stderr.length
  if (cli.output === 'both') {
    const texts = [textOf(stdout), textOf(stderr)]
    if (texts.includes(undefined)) return invalid(NOT_TEXT)
    return { kind: 'success', output: { stdout: texts[0] ?? '', stderr: texts[1] ?? '' }, bytes }
  }
  const body = cli.output === 'stderr' ? stderr : stdout
  if (isJson(operation)) {
    const parsed = parseStrictJson(body)
    if (parsed.ok) return { kind: 'success', output: parsed.value, bytes }
    return invalid('the tool declares an output schema, and the program wrote no JSON', parsed.violations)
  }
  const text: Json | undefined = textOf(body)
  return text === undefined ? invalid(NOT_TEXT) : { kind: 'success', output: text, bytes }
}

const NOT_TEXT = 'the program wrote what is no text in UTF-8'

/** Whoever declares what the output looks like means its value; a schema for text alone means the text. */
function isJson({ outputSchema }: ResolvedOperation): boolean {
  return outputSchema !== undefined && outputSchema.type !== 'string'
}

function invalid(message: string, found: readonly Violation[] = []): Refusal {
  const violations = found.length === 0 ? [{ path: '', message: 'must be text in UTF-8' }] : found
  return {
    kind: 'failure',
    failure: 'output-invalid',
    message,
    details: { violations: violations.map(({ path, message: why }) => ({ path, message: why })) },
    definite: false,
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
