// A two-phase service on loopback that counts, by key, what was prepared, committed and taken back, and can be made to
// lose its replies, to refuse and to be slow.
import type { ServerResponse } from 'node:http'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { listenHttp, type Peer, type Received, sendJson } from '../transport/tool-peer.ts'

/** What a phase does: as it should, refuse it, do it and lose the reply, lose the request, or wait until let go. */
export type Way = 'ok' | 'refuse' | 'lose' | 'drop' | 'hold' | 'no-token' | 'broken' | 'gone'

interface Kept {
  readonly token: string
  committed: number
  rolledBack: number
}

export interface TwoPhaseTool {
  readonly peer: Peer
  readonly kept: Map<string, Kept>
  readonly ways: { prepare: Way; commit: Way; rollback: Way; status: Way }
  /** Lets what was held go on. */
  release(): void
  /** How often requests of this phase came. */
  count(phase: keyof TwoPhaseTool['ways']): number
  manifest(more?: string): string
  close(): Promise<void>
}

export async function startTwoPhaseTool(): Promise<TwoPhaseTool> {
  const kept = new Map<string, Kept>()
  const ways: TwoPhaseTool['ways'] = { prepare: 'ok', commit: 'ok', rollback: 'ok', status: 'ok' }
  const held: (() => void)[] = []
  const counts = { prepare: 0, commit: 0, rollback: 0, status: 0 }

  function answer(way: Way, response: ServerResponse, act: () => Json): void {
    switch (way) {
      case 'refuse':
        response.writeHead(422).end()
        return
      case 'gone':
        response.writeHead(404).end()
        return
      case 'drop':
        response.destroy()
        return
      case 'lose':
        act()
        response.destroy()
        return
      case 'hold':
        held.push(() => sendJson(response, act()))
        return
      case 'broken':
        act()
        response.writeHead(200, { 'content-type': 'application/json' }).end('{')
        return
      default:
        sendJson(response, act())
    }
  }

  const keyOf = (received: Received) => String(received.headers['idempotency-key'])

  const phases: Record<keyof typeof counts, (received: Received, response: ServerResponse) => void> = {
    prepare(received, response) {
      answer(ways.prepare, response, () => {
        const key = keyOf(received)
        const one = kept.get(key) ?? { token: `tool secret/${kept.size}?`, committed: 0, rolledBack: 0 }
        kept.set(key, one)
        const preview = { would: JSON.parse(received.body) as Json }
        return ways.prepare === 'no-token' ? { preview } : { commit_token: one.token, preview }
      })
    },
    commit(received, response) {
      answer(ways.commit, response, () => {
        const token = decodeURIComponent(received.path.split('/')[2] ?? '')
        const one = [...kept.values()].find((each) => each.token === token)
        if (one === undefined) throw new Error(`no such token: ${received.path}`)
        one.committed++
        return { receipt: one.committed }
      })
    },
    rollback(received, response) {
      answer(ways.rollback, response, () => {
        const one = kept.get(decodeURIComponent(received.path.split('/')[2] ?? ''))
        if (one !== undefined) one.rolledBack++
        return null
      })
    },
    status(received, response) {
      answer(ways.status, response, () => {
        const one = kept.get(received.path.split('/')[2] ?? '')
        return one !== undefined && one.committed > 0
          ? { state: 'done', output: { receipt: one.committed } }
          : { state: 'not_done' }
      })
    },
  }

  const peer = await listenHttp((received, response) => {
    const phase = received.path.split('/')[1] as keyof typeof phases
    counts[phase]++
    phases[phase](received, response)
  })

  return {
    peer,
    kept,
    ways,
    release() {
      for (const run of held.splice(0)) run()
    },
    count: (phase) => counts[phase],
    manifest: (more = '') => `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: book }
spec:
  type: http
  version: 1.0.0
  endpoint: ${peer.origin}/prepare
  runtime: { timeout: 2s }
  effect:
    class: external-communication
    two_phase:
      commit: { url: '${peer.origin}/commit/{token}' }
      rollback: { method: DELETE, url: '${peer.origin}/rollback/{key}' }
      ${more}
`,
    close: () => peer.close(),
  }
}

export function sent(tool: TwoPhaseTool, phase: string): Received[] {
  return tool.peer.received.filter((received) => received.path.startsWith(`/${phase}`))
}

export function bodyOf(received: Received | undefined): JsonObject {
  return JSON.parse(received?.body ?? 'null') as JsonObject
}
