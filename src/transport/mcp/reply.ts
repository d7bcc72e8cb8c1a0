// What the server said to one call, as a reply. The one place where results and errors of MCP become rows.
import { type CallToolResult, ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { Blocked } from '../../egress/dial.ts'
import { isJsonObject, type Json, type JsonObject, type Violation } from '../../util/json.ts'
import { toolRefusal } from '../envelope-reply.ts'
import { blockedRefusal, brokenRefusal, isDefiniteStatus } from '../http-status.ts'
import { copyAsJson } from '../json-copy.ts'
import type { Refusal, Reply, Send } from '../transport.ts'
import type { Flaw } from './wire.ts'

const TEXT_CHARS = 2_048
/** A longer one is no code. */
const CODE_CHARS = 128
const MAX_VIOLATIONS = 20

/** What the wire needs beside the output: servers send structured output a second time, as text in a text. */
export function wireBytes(outputBytes: number): number {
  return 4 * outputBytes + 1_048_576
}

export function resultReply(result: CallToolResult, send: Send): Reply {
  if (result.isError === true) return toolFailed(result, send)
  const copy = copyAsJson(outputOf(result), send.tool.limits.outputBytes)
  if (copy.ok) return { kind: 'success', output: copy.value, bytes: copy.bytes }
  if (copy.reason === 'too-large') return flawRefusal({ kind: 'too-large' }, send)
  return {
    kind: 'failure',
    failure: 'output-invalid',
    message: 'the output of the tool is not JSON that can be kept',
    details: { violations: violationsOf([copy.violation]) },
    definite: false,
  }
}

/** Structured content, or the text where there is nothing else, or everything there is. */
function outputOf({ structuredContent, content }: CallToolResult): unknown {
  if (structuredContent !== undefined) return structuredContent
  const [only] = content
  if (content.length === 1 && only?.type === 'text') return only.text
  return { content }
}

/** S23: that a tool failed says nothing about what it did before, unless it says so or the manifest does. */
function toolFailed(result: CallToolResult, { operation }: Send): Refusal {
  const meta = (result._meta ?? {}) as JsonObject
  const code = meta['writ/code']
  const retryable = meta['writ/retryable']
  const harmless = meta['writ/effect'] === 'none'
  const text = result.content
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
    .slice(0, TEXT_CHARS)
  const message = text === '' ? 'the tool reported that it failed' : text
  const said = typeof retryable === 'boolean' ? retryable : undefined
  if (typeof code === 'string' && code.length <= CODE_CHARS) {
    // It speaks for itself: its code means what it means in an envelope.
    const words = { kind: 'failure', status: 'error', dialect: 'v1', code, message, harmless } as const
    return toolRefusal(said === undefined ? words : { ...words, retryable: said }, operation)
  }
  return {
    kind: 'failure',
    failure: 'upstream-error',
    message,
    details: {},
    definite: harmless,
    ...(said === undefined ? {} : { toolRetryable: said }),
  }
}

export function flawRefusal(flaw: Flaw, { tool }: Send): Refusal {
  if (flaw.kind === 'too-large') {
    return {
      kind: 'failure',
      failure: 'output-too-large',
      message: 'the reply is larger than the limit; reading stopped there',
      details: { limit_bytes: tool.limits.outputBytes },
      definite: false,
    }
  }
  if (flaw.kind === 'malformed') return malformed(flaw.violations)
  return {
    kind: 'failure',
    failure: 'connect-failed',
    message: `the connection to the server ended before its reply: ${flaw.why}`,
    definite: false,
  }
}

/** The call ended in an error of the SDK. `origin` is where the server is, where that is an address. */
export function errorRefusal(error: unknown, sent: boolean, send: Send, origin: string): Refusal {
  if (error instanceof ProtocolError) return protocolRefusal(error, send)
  if (error instanceof SdkError && error.code === SdkErrorCode.UnsupportedResultType) return asksForInput()
  if (sent && isUnreadable(error)) return malformed([{ path: '', message: wordsOf(error) }])
  return connectionRefusal(error, sent, origin)
}

/** Nothing came of the connection. */
export function connectionRefusal(error: unknown, sent: boolean, origin: string): Refusal {
  const blocked = sent ? undefined : blockedBy(error)
  if (blocked !== undefined) return blockedRefusal({ kind: 'blocked', why: blocked.message }, origin)
  return brokenRefusal({ kind: 'broken', sent, code: codeOf(error) })
}

function protocolRefusal(error: ProtocolError, { operation }: Send): Refusal {
  const details = { jsonrpc_code: error.code }
  if (error.code === URL_ELICITATION) return { ...asksForInput(), details }
  const status = STATUS_OF[error.code]
  if (status === undefined) {
    return {
      kind: 'failure',
      failure: 'upstream-error',
      // Its words are not quoted: they are of a fault that nobody has foreseen, and may hold anything.
      message: `the server answered with an error (${error.code})`,
      details,
      definite: false,
    }
  }
  const gone = error.code === METHOD_NOT_FOUND
  return {
    kind: 'failure',
    failure: 'upstream-rejected',
    message: gone
      ? 'the server does not know the call of this tool any more'
      : `the server rejected the call: ${error.message.slice(0, TEXT_CHARS)}`,
    details,
    definite: isDefiniteStatus(status, operation),
  }
}

const METHOD_NOT_FOUND = -32601
const URL_ELICITATION = -32042
/** S23 lists the definite refusals by HTTP status: these say the same. */
const STATUS_OF: Readonly<Record<number, number>> = {
  [-32700]: 400,
  [-32600]: 400,
  [METHOD_NOT_FOUND]: 404,
  [-32602]: 422,
  // The headers of a call do not fit its body.
  [-32020]: 400,
}

function asksForInput(): Refusal {
  return {
    kind: 'failure',
    failure: 'upstream-rejected',
    message:
      'the tool asks for more input in the midst of the call (input_required), which is not offered here. Fix: give it everything in its input',
    details: { result_type: 'input_required' },
    definite: false,
  }
}

function malformed(violations: readonly Violation[]): Refusal {
  return {
    kind: 'failure',
    failure: 'reply-malformed',
    message: 'the reply of the server is no result of MCP',
    details: { violations: violationsOf(violations) },
    definite: false,
  }
}

function violationsOf(violations: readonly Violation[]): Json[] {
  return violations.slice(0, MAX_VIOLATIONS).map(({ path, message }) => ({ path, message }))
}

const UNREADABLE: ReadonlySet<string> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.ClientHttpUnexpectedContent,
])

/** Something came, and it is no message. */
export function isUnreadable(error: unknown): boolean {
  if (error instanceof SdkError) return UNREADABLE.has(error.code)
  return error instanceof SyntaxError || (error instanceof Error && /^\$?ZodError$/.test(error.name))
}

/** Never the words of a parser, which quote what they found. */
function wordsOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'is not well-formed JSON'
  if (error instanceof SdkError && error.code === SdkErrorCode.ClientHttpUnexpectedContent)
    return 'is neither JSON nor a stream of events'
  return 'is not shaped as a result of tools/call'
}

function causesOf(error: unknown): readonly unknown[] {
  const found: unknown[] = []
  for (let one = error; one !== undefined && one !== null && found.length < 8; ) {
    found.push(one)
    one = (one as { cause?: unknown }).cause ?? (isJsonObject(one) ? undefined : dataCause(one))
  }
  return found
}

function dataCause(error: unknown): unknown {
  return (error as { data?: { cause?: unknown } }).data?.cause
}

function blockedBy(error: unknown): Blocked | undefined {
  return causesOf(error).find((one): one is Blocked => one instanceof Blocked)
}

/** `fetch` asks at no port that the standard keeps for other protocols; its error has no code. */
export function isBadPort(error: unknown): boolean {
  return causesOf(error).some((one) => one instanceof Error && one.message === 'bad port')
}

/** The code of the deepest cause that has one. */
export function codeOf(error: unknown): string {
  const codes = causesOf(error).map((one) => (one as { code?: unknown }).code)
  return codes.findLast((code) => typeof code === 'string') ?? 'CLOSED'
}
