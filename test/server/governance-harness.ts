// A server whose tool asks for approval of large amounts, and the people around it.
import { type Caller, type CallerIdentity, createCaller, defineTool } from '../../src/index.ts'
import { createAdminTokenAuth } from '../../src/server/index.ts'
import { type Harness, startHarness, TOKEN } from './harness.ts'

export const AGENT = 'agent-token'
export const OTHER_AGENT = 'other-agent-token'
/** May decide, read all and make grants. */
export const ANNA = 'anna-token'
/** May decide. */
export const BEN = 'ben-token'
/** May freeze, and nothing else. */
export const OPS = 'ops-token'
export const NOBODY = 'nobody-token'
/** May do all of it, in another namespace. */
export const ELSEWHERE = 'elsewhere-token'

const CALLS = ['tool:transfer:invoke', 'tool:look:invoke']
const DECIDES = ['approval:read', 'approval:decide', 'grant:write']
const ALL = [...DECIDES, 'approval:override', 'freeze:write']

const IDENTITIES: Readonly<Record<string, CallerIdentity>> = {
  [AGENT]: { actor: 'agent-1', kind: 'agent', permissions: CALLS },
  [OTHER_AGENT]: { actor: 'agent-2', kind: 'agent', permissions: [...CALLS, 'approval:decide'] },
  [ANNA]: { actor: 'anna', kind: 'person', permissions: [...CALLS, ...DECIDES] },
  [BEN]: { actor: 'ben', kind: 'person', permissions: ['approval:decide'] },
  [OPS]: { actor: 'ops', kind: 'person', permissions: ['freeze:write'] },
  [NOBODY]: { actor: 'nobody', kind: 'person' },
  [ELSEWHERE]: { actor: 'anna', kind: 'person', namespace: 'other', permissions: [...CALLS, ...ALL] },
}
const CALLERS: Readonly<Record<string, Caller>> = Object.fromEntries(
  Object.entries(IDENTITIES).map(([token, identity]) => [token, createCaller(identity)]),
)

export interface GovernanceHarness extends Harness {
  /** The amounts that were transferred, in order. */
  readonly transferred: number[]
  /** Asks for a transfer that waits; the ids of the approval and the call. */
  suspend(input?: object): Promise<{ readonly approval: string; readonly call: string }>
}

export async function startGovernanceHarness(): Promise<GovernanceHarness> {
  const admin = createAdminTokenAuth(TOKEN)
  const harness = await startHarness({
    async authenticate(token) {
      const caller = CALLERS[token ?? '']
      return caller === undefined ? admin(token) : { caller }
    },
  })
  const transferred: number[] = []
  harness.runtime.define(
    defineTool({
      name: 'transfer',
      version: '1.0.0',
      input: {
        type: 'object',
        properties: {
          to: { type: 'string' },
          amount: { type: 'number' },
          pin: { type: 'string', writeOnly: true },
        },
        required: ['to', 'amount'],
        additionalProperties: false,
      },
      effect: { class: 'external-communication', determinism: 'side_effectful' },
      spec: { approval_triggers: [{ field: '/amount', op: 'gt', value: 100 }] },
      handler(input) {
        const { amount } = input as { amount: number }
        transferred.push(amount)
        return { transferred: amount }
      },
    }),
  )
  harness.runtime.define(
    defineTool({
      name: 'look',
      version: '1.0.0',
      effect: { class: 'read-only', determinism: 'pure' },
      handler: () => ({ seen: true }),
    }),
  )
  return {
    ...harness,
    transferred,
    async suspend(input = { to: 'acme', amount: 500, pin: '1234-secret' }) {
      const reply = await harness.call('transfer', input, { token: AGENT })
      return {
        approval: String(reply.body.error?.details?.approval_id),
        call: String(reply.headers['writ-call-id']),
      }
    },
  }
}
