// A server whose tools prepare, lose their answers, can be undone, and keep or break what they say about repeats.
import assert from 'node:assert/strict'
import { type Caller, createCaller, defineTool, ToolError } from '../../src/index.ts'
import { createAdminTokenAuth } from '../../src/server/index.ts'
import { type Harness, startHarness, TOKEN } from './harness.ts'

export const ALICE = 'alice-token'
export const BOB = 'bob-token'
/** May settle, and is in another namespace than the rest. */
export const ELSEWHERE = 'elsewhere-token'
/** May settle what others did. */
export const CLERK = 'clerk-token'

const CALLS = ['reserve', 'mail', 'asked', 'lost', 'book', 'keyed', 'fickle', 'plain'].map(
  (name) => `tool:${name}:invoke`,
)

const CALLERS: Readonly<Record<string, Caller>> = {
  [ALICE]: createCaller({ actor: 'alice', permissions: CALLS }),
  [BOB]: createCaller({ actor: 'bob', permissions: CALLS }),
  // By a role, as everybody has it who shows a token.
  [CLERK]: createCaller({ actor: 'alice', roles: ['clerk'], permissions: CALLS }),
  [ELSEWHERE]: createCaller({ actor: 'alice', namespace: 'other', permissions: [...CALLS, 'call:settle'] }),
}

const CLERK_ROLE = `apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: clerk}
spec: {permissions: ['call:settle']}
`

export interface EffectHarness extends Harness {
  /** What the tools did, in order. */
  readonly log: string[]
  /** A tool that was told to fail by its input does as long as this says so. */
  readonly moods: { confirm: 'ok' | 'lost' | 'refuse'; cancel: 'ok' | 'refuse'; status: 'running' | 'done' }
}

export async function startEffectHarness(): Promise<EffectHarness> {
  const admin = createAdminTokenAuth(TOKEN)
  const harness = await startHarness({
    async authenticate(token) {
      const caller = CALLERS[token ?? '']
      return caller === undefined ? admin(token) : { caller }
    },
  })
  const role = await harness.runtime.resources.apply([{ text: CLERK_ROLE, file: 'clerk.yaml' }])
  assert.ok(role.ok, JSON.stringify(role.problems))
  const log: string[] = []
  const moods: EffectHarness['moods'] = { confirm: 'ok', cancel: 'ok', status: 'running' }
  const write = { class: 'external-communication', determinism: 'side_effectful' } as const
  const keyed = {
    class: 'external-communication',
    determinism: 'idempotent',
    idempotency: { keyed: { retention: '24h' } },
  } as const
  const refuse = (message: string) => new ToolError(message, { effect: 'none', retryable: false })
  const tools = [
    defineTool({
      name: 'reserve',
      version: '1.0.0',
      effect: { ...write, two_phase: { commit: 'confirm', rollback: 'release', deadline: '10m' } },
      handler() {
        log.push('prepared')
        return { commit_token: 'held-1', seats: 2 }
      },
      operations: {
        confirm: {
          effect: write,
          handler() {
            if (moods.confirm === 'refuse') throw refuse('sold out')
            log.push('committed')
            if (moods.confirm === 'lost') throw new Error('the answer is lost')
            return { confirmed: true }
          },
        },
        release: {
          effect: write,
          handler() {
            log.push('released')
            return {}
          },
        },
      },
    }),
    defineTool({
      name: 'mail',
      version: '1.0.0',
      effect: write,
      handler() {
        log.push('mailed')
        throw new Error('the answer is lost')
      },
    }),
    defineTool({
      name: 'asked',
      version: '1.0.0',
      effect: { ...write, status_query: { operation: 'status', quiet: '10ms' } },
      handler() {
        log.push('asked for')
        throw new Error('the answer is lost')
      },
      operations: {
        status: {
          effect: { class: 'read-only', determinism: 'pure' },
          handler: () => ({ state: moods.status }),
        },
      },
    }),
    defineTool({
      name: 'lost',
      version: '1.0.0',
      effect: keyed,
      handler() {
        throw new Error('the answer is lost')
      },
    }),
    defineTool({
      name: 'book',
      version: '1.0.0',
      effect: {
        class: 'reversible-write',
        determinism: 'side_effectful',
        compensation: { operation: 'cancel', input_map: { seat: '/input/seat' } },
      },
      handler(input) {
        const { seat, fail = false } = (input ?? {}) as { seat?: string; fail?: boolean }
        if (fail) throw refuse('no such seat')
        log.push(`booked ${seat}`)
        return { seat: seat ?? null }
      },
      operations: {
        cancel: {
          effect: write,
          handler(input) {
            if (moods.cancel === 'refuse') throw refuse('not any more')
            log.push(`canceled ${(input as { seat: string }).seat}`)
            return {}
          },
        },
      },
    }),
    defineTool({
      name: 'keyed',
      version: '1.0.0',
      effect: keyed,
      handler: (_input, { key }) => ({ key: key ?? null }),
    }),
    defineTool({
      name: 'fickle',
      version: '1.0.0',
      effect: keyed,
      handler: () => ({ turn: log.push('fickle') }),
    }),
    defineTool({ name: 'plain', version: '1.0.0', effect: write, handler: () => ({}) }),
  ]
  try {
    for (const tool of tools) harness.runtime.define(tool)
  } catch (error) {
    await harness.close()
    throw error
  }
  return Object.assign(harness, { log, moods })
}
