// Words of a server about how far a call has come. Heard in the order they come, and before the reply that follows them.
import type { Transport as SdkTransport } from '@modelcontextprotocol/client'
import { isJsonObject, type Json } from '../../util/json.ts'
import type { AttemptSink } from '../transport.ts'

export interface ProgressWatch {
  /** What the call gives the server to name it by, and how to stop listening. */
  watch(sink: AttemptSink): { readonly token: string; stop(): void }
}

const MAX_FACTS = 1_000
const MESSAGE_CHARS = 1_024
const METHOD = 'notifications/progress'

/** Of an open connection: the SDK hands such words on a moment later, and forgets them when the reply is there. */
export function createProgressWatch(transport: SdkTransport): ProgressWatch {
  const watched = new Map<string, AttemptSink>()
  const left = new Map<string, number>()
  let count = 0
  const inner = transport.onmessage
  transport.onmessage = (message, extra) => {
    if ('method' in message && message.method === METHOD) hear(message.params as Json | undefined)
    else inner?.(message, extra)
  }

  function hear(params: Json | undefined): void {
    if (!isJsonObject(params)) return
    const { progressToken, progress, total, message } = params
    const token = String(progressToken)
    const sink = watched.get(token)
    const more = left.get(token) ?? 0
    if (sink === undefined || more === 0 || typeof progress !== 'number') return
    left.set(token, more - 1)
    sink.progress({
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message: message.slice(0, MESSAGE_CHARS) } : {}),
    })
  }

  return {
    watch(sink) {
      count++
      const token = `writ-${count}`
      watched.set(token, sink)
      left.set(token, MAX_FACTS)
      return {
        token,
        stop() {
          watched.delete(token)
          left.delete(token)
        },
      }
    },
  }
}
