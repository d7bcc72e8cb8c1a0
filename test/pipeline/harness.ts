// A real runtime with native tools that a test steers, and a count of what the tool's side saw.
import type { TestContext } from 'node:test'
import type { NativeToolDefinition } from '../../src/define-tool.ts'
import { defineOperation, defineTool } from '../../src/define-tool.ts'
import { createRuntime, type RuntimeOptions } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import type { NativeContext } from '../../src/transport/native.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'

export const EVERYTHING = ['tool:*:invoke', 'capability:*', 'class:*']

/** What reached the tool, in order. */
export interface Seen {
  readonly input: Json | undefined
  readonly key: string
  readonly attempt: number
  readonly callId: string
}

/** A tool whose every send is on record, and whose behaviour is the test's. */
export interface SteeredTool {
  readonly definition: NativeToolDefinition
  readonly sends: Seen[]
  behave(handler: (input: Json | undefined, context: NativeContext) => unknown): void
  /** What the tool is asked about its calls (S27), in order; and what it says. */
  readonly questions: Json[]
  say(status: (question: Json | undefined) => unknown): void
}

export function steeredTool(name: string, spec: JsonObject = {}, input?: JsonObject): SteeredTool {
  const sends: Seen[] = []
  const questions: Json[] = []
  let status: (question: Json | undefined) => unknown = () => ({ state: 'running' })
  let handler: (input: Json | undefined, context: NativeContext) => unknown = (value) => value ?? null
  const { effect = { class: 'external-communication' }, output_schema, version, ...rest } = spec
  const definition = defineTool({
    name,
    ...(version === undefined ? {} : { version: version as string }),
    ...(input === undefined ? {} : { input }),
    ...(output_schema === undefined ? {} : { output: output_schema as JsonObject }),
    ...(effect === null ? {} : { effect: effect as never }),
    spec: rest as never,
    operations: {
      status: defineOperation({
        effect: { class: 'read-only' },
        handler: (question) => {
          questions.push(question ?? null)
          return status(question) as Json
        },
      }),
    },
    handler: (value, context) => {
      sends.push({ input: value, key: context.key, attempt: context.attempt, callId: context.callId })
      return handler(value, context) as Json
    },
  })
  return {
    definition,
    sends,
    behave(next) {
      handler = next
    },
    questions,
    say(next) {
      status = next
    },
  }
}

export const READ = { effect: { class: 'read-only' } } as const
export const NATURAL = {
  effect: {
    class: 'reversible-write',
    determinism: 'idempotent',
    idempotency: 'natural',
    compensation: { tool: 'undo' },
  },
} as const
/** A write that can be neither repeated nor asked about. */
export const WRITE = { effect: { class: 'external-communication' } } as const
/** A write that can be asked about; `not_done` is believed at once, since the tool keeps later arrivals out. */
export const FENCING = {
  effect: { class: 'external-communication', status_query: { operation: 'status', fencing: true } },
} as const
/** The same without fencing: `not_done` is believed after a quiet time. */
export const QUERYABLE = {
  effect: { class: 'external-communication', status_query: { operation: 'status', quiet: '300ms' } },
} as const
/** Nothing is declared: as bad as it can be (S21). */
export const UNDECLARED = { effect: null } as const

export async function runtimeWith(
  t: TestContext,
  tools: readonly SteeredTool[],
  options: RuntimeOptions = {},
): Promise<{ runtime: Runtime; door: CallerDoor }> {
  const runtime = await createRuntime({
    onWarning: () => {},
    ...options,
    tools: tools.map((tool) => tool.definition),
  })
  t.after(() => runtime.close({ drainMs: 0 }))
  return { runtime, door: runtime.as({ actor: 'agent-a', permissions: EVERYTHING }) }
}

/** A promise and the function that settles it. */
export function gate<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { opened: promise, open: resolve }
}

/** Lets everything that is ready run. */
export function settleDown(ms = 5): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
