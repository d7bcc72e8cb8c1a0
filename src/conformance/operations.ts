// The four operations as our own tool peers offer them, with a log of every send: the oracle of what really happened.
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { ToolSend } from './subject.ts'
import type { OperationName } from './tools.ts'

/** One send, however it came. */
export interface Ask {
  readonly operation: OperationName
  readonly input: Json
  readonly key: string
  readonly attempt: number
  readonly traceId: string
  /** What it was shown; absent: nothing. */
  readonly credentials?: ToolSend['credentials']
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal
}

export type Result =
  | { readonly ok: true; readonly output: Json }
  | { readonly ok: false; readonly fault: Fault }

export interface Fault {
  readonly code: string
  readonly message: string
  /** For services that speak in statuses. */
  readonly status: number
  readonly retryable?: boolean
}

export interface Operations {
  run(ask: Ask): Promise<Result>
  sends(mark: string): readonly ToolSend[]
}

export function createOperations(world: Pick<World, 'after'>): Operations {
  const log: (ToolSend & { stopped: boolean })[] = []
  /** Effects by key. A key that is known makes no second one. */
  const counted = new Map<string, number>()

  function count(key: string): number {
    if (!counted.has(key)) counted.set(key, 1)
    return counted.get(key) ?? 0
  }

  return {
    async run(ask) {
      const { operation, key, attempt, traceId, credentials = {}, signal } = ask
      const input = isJsonObject(ask.input) ? ask.input : {}
      const send = { operation, input: ask.input, key, attempt, traceId, credentials, stopped: false }
      log.push(send)
      const done = new AbortController()
      const stop = () => {
        send.stopped = true
      }
      signal.addEventListener('abort', stop, { signal: done.signal })
      try {
        if (operation === 'echo') return { ok: true, output: ask.input }
        if (operation === 'count') return { ok: true, output: { count: count(key) } }
        if (operation === 'fail') return { ok: false, fault: faultOf(input) }
        const ms = typeof input.ms === 'number' ? input.ms : 0
        await sleep(world, ms, signal)
        return { ok: true, output: { slept_ms: ms } }
      } finally {
        done.abort()
      }
    },
    sends: (mark) => log.filter(({ input }) => isJsonObject(input) && input.mark === mark),
  }
}

function faultOf(input: JsonObject): Fault {
  return {
    code: typeof input.code === 'string' ? input.code : 'execution_failed',
    message: typeof input.message === 'string' ? input.message : 'asked to fail',
    status: typeof input.status === 'number' ? input.status : 500,
    ...(typeof input.retryable === 'boolean' ? { retryable: input.retryable } : {}),
  }
}

function sleep(world: Pick<World, 'after'>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = world.after(ms, resolve)
    signal.addEventListener(
      'abort',
      () => {
        timer.cancel()
        resolve()
      },
      { once: true },
    )
  })
}
