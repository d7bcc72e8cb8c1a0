// Words of a server that its tools changed.
import { type Client, ProtocolError } from '@modelcontextprotocol/client'
import { Abort } from '../../util/abort.ts'
import type { World } from '../../util/world.ts'
import { pause, pauseAfter } from './pause.ts'

export interface Changes {
  listen(listener: () => void): () => void
  close(): void
}

const BASE_PAUSE_MS = 1_000
/** One that held for longer was none that failed. */
const HELD_MS = 60_000
const ANSWER_MS = 30_000
const METHOD_NOT_FOUND = -32601

/** Newer revisions have to be asked for them, and asked again where that has come to an end. */
export function createChanges(client: Client, world: Pick<World, 'after' | 'clock' | 'random'>): Changes {
  const listeners = new Set<() => void>()
  const ending = new Abort()
  let subscribing = false
  const offered = client.getServerCapabilities()?.tools?.listChanged === true
  const tell = () => {
    for (const listener of listeners) listener()
  }
  client.setNotificationHandler('notifications/tools/list_changed', tell)

  async function subscribe(): Promise<void> {
    let failures = 0
    for (let count = 0; listeners.size > 0 && !ending.aborted; count++) {
      const began = world.clock.monotonic()
      try {
        const open = await client.listen(
          { toolsListChanged: true },
          { signal: ending.signal, timeout: ANSWER_MS },
        )
        // What was said while nobody listened is not said again.
        if (count > 0) tell()
        await open.closed
      } catch (error) {
        if (error instanceof ProtocolError && error.code === METHOD_NOT_FOUND) return
      }
      failures = world.clock.monotonic() - began > HELD_MS ? 1 : failures + 1
      await pause(pauseAfter(failures, BASE_PAUSE_MS, world), ending, world)
    }
    subscribing = false
  }

  return {
    listen(listener) {
      listeners.add(listener)
      if (offered && !subscribing && client.getProtocolEra() === 'modern') {
        subscribing = true
        void subscribe()
      }
      return () => void listeners.delete(listener)
    },
    close() {
      listeners.clear()
      ending.abort('shutdown')
    },
  }
}
