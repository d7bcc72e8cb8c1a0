// How a connection to one server comes about: tried as often as declared, with pauses, and never at once after a failure.
import type { PriorDiscovery } from '@modelcontextprotocol/client'
import type { ResolvedMcpServer } from '../../resource/resolved-mcp-server.ts'
import type { Abort } from '../../util/abort.ts'
import type { World } from '../../util/world.ts'
import type { McpConnection } from './connection.ts'
import { pause, pauseAfter } from './pause.ts'
import { McpFailed } from './session.ts'

export interface ReconnectOptions {
  readonly world: Pick<World, 'after' | 'clock' | 'random'>
  readonly server: ResolvedMcpServer
  readonly ending: Abort
  /** Rejects with `McpFailed`. */
  open(prior: PriorDiscovery | undefined): Promise<McpConnection>
}

export interface Reconnect {
  /** Another one. Rejects with `McpFailed`. */
  connect(): Promise<McpConnection>
  /** One that was open has ended before it was of any use, which is no better than none. */
  wasNoUse(): void
  wasOfUse(): void
  /** What went wrong last, where nothing has gone well since. */
  readonly trouble: string | undefined
}

export function createReconnect({ world, server, ending, open }: ReconnectOptions): Reconnect {
  const { maxAttempts, backoffMs } = server.reconnect
  let prior: PriorDiscovery | undefined
  let last: { readonly at: number; readonly why: string } | undefined

  const failed = (why: string) => {
    last = { at: world.clock.monotonic(), why }
  }

  /** Whoever asks right after a failure does not start the program of before once more in the same moment. */
  async function settle(): Promise<void> {
    if (last === undefined) return
    const left = last.at + pauseAfter(1, backoffMs, world) - world.clock.monotonic()
    if (left > 0) await pause(left, ending, world)
  }

  return {
    async connect() {
      await settle()
      let failures = 0
      let tookForOlder = false
      for (;;) {
        try {
          const opened = await open(prior)
          prior = opened.prior
          return opened
        } catch (error) {
          if (ending.aborted || !worthAnother(error)) throw error
          // An older program may end at the question for its revisions, which it does not know.
          if (server.connection.kind === 'stdio' && prior === undefined && !tookForOlder) {
            tookForOlder = true
            prior = { kind: 'legacy' }
            continue
          }
          // It may have been replaced by one that speaks another revision.
          prior = undefined
          failures++
          failed(error.message)
          if (failures >= maxAttempts) throw error
          await pause(pauseAfter(failures, backoffMs, world), ending, world)
        }
      }
    },
    wasNoUse: () => failed(`the connection to the MCP server ${server.name} ended right after it was opened`),
    wasOfUse() {
      last = undefined
    },
    get trouble() {
      return last?.why
    },
  }
}

/** A refusal of the guard or of a credential is the same the next time. */
function worthAnother(error: unknown): error is McpFailed {
  return error instanceof McpFailed && error.refusal.failure === 'connect-failed'
}
