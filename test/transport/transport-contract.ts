// What the cases that every transport passes are made of: they know nothing of a test runner or of a transport.
import assert from 'node:assert/strict'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import type { Refusal, Reply, Success, Transport } from '../../src/transport/transport.ts'
import type { Json } from '../../src/util/json.ts'

/** How the tool behind a transport behaves. */
export type Behaviour =
  /** answers with its input */
  | 'echo'
  /** answers with its input after 50 ms */
  | 'delay'
  /** takes the request and never answers */
  | 'hang'
  /** begins its answer and never ends it */
  | 'hang-mid-body'
  /** begins its answer and hangs up */
  | 'cut-mid-body'
  /** answers with more than the limit, and would go on for ever */
  | 'huge'
  /** answers with what is no output */
  | 'invalid-output'
  /** says that the input is not valid */
  | 'reject'
  /** reports a fault of its own */
  | 'fail'
  /** reports a fault and declares that nothing happened */
  | 'fail-harmless'
  /** cannot be reached */
  | 'refuse'
  /** takes the work on, and answers with its input when it is asked for the second time */
  | 'accept'

export interface Seen {
  readonly input: Json | undefined
  readonly key: string
  readonly attempt: number
}

/** A transport with a tool at its other end. */
export interface TransportBench {
  readonly transport: Transport
  tool(behaviour: Behaviour, overrides?: Partial<ResolvedTool>): ResolvedTool
  /** What reached the tool, in order. */
  readonly seen: readonly Seen[]
  /** Whether anything at all reached it, if only a part of a request. */
  touched(): boolean
  /** Resolves once `count` requests have reached it. */
  arrived(count: number): Promise<void>
  close(): Promise<void>
}

export interface TransportUnderTest {
  readonly name: string
  /** Which of several ways of one type this is. */
  readonly variant?: string
  /** What its tools take is an object, whatever else JSON is. */
  readonly objectsOnly?: true
  /** Behaviours its tools cannot have, each with the reason. */
  readonly without: Partial<Record<Behaviour, string>>
  /** Its tools can take work on that ends later. */
  readonly takesOn?: true
  open(): Promise<TransportBench>
}

export interface TransportCase {
  readonly name: string
  readonly needs: readonly Behaviour[]
  run(bench: TransportBench, of?: TransportUnderTest): Promise<void>
}

/** What a tool says that failed and declares that nothing happened. */
export const HARMLESS = {
  status: 'error',
  effect: 'none',
  error: {
    code: 'out_of_paper',
    reason: 'tool_backend_failure',
    retryable: true,
    message: 'no paper',
    details: {},
  },
} as const

/** An attempt that does not end soon after an abort has failed its caller. */
const BOUND_MS = 250

export function success(reply: Reply): Success {
  if (reply.kind !== 'success') assert.fail(`expected a success, got ${JSON.stringify(reply)}`)
  return reply
}

export function refusal(reply: Reply): Refusal {
  if (reply.kind !== 'failure') assert.fail(`expected a refusal, got ${JSON.stringify(reply)}`)
  return reply
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** The same, unless it takes too long after `act`. */
export async function endsSoon<T>(pending: Promise<T>, act: () => void, boundMs = BOUND_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the attempt did not end within ${boundMs} ms`)), boundMs)
  })
  try {
    act()
    return await Promise.race([pending, late])
  } finally {
    clearTimeout(timer)
  }
}
