// A server with tokens of its own and a tool that transfers money, can be undone, and asks for approval of large amounts.
import assert from 'node:assert/strict'
import { defineTool, ToolError } from '../../src/index.ts'
import { type Harness, type Reply, startHarness } from '../server/harness.ts'
import { manifest } from './two-houses.ts'

export interface People extends Harness {
  /** What was transferred and taken back, in order. */
  readonly log: string[]
  /** Runs in the first attempt of `flaky`, which then fails with nothing done. */
  duringFirstAttempt(run: () => Promise<unknown>): void
  token(body: object): Promise<string>
  apply(text: string, token?: string): Promise<Reply>
  /** Asks for a transfer that has to wait. */
  ask(token: string, input: object, envelope?: object): Promise<{ approval: string; call: string }>
  decide(approval: string, verb: string, token: string, body?: object): Promise<Reply>
}

export const PAYER = manifest(
  'AgentRole',
  'payer',
  "{permissions: ['tool:transfer:invoke', 'tool:flaky:invoke']}",
)
const ROLES = [
  PAYER,
  manifest('AgentRole', 'approver', "{permissions: ['approval:decide', 'approval:read']}"),
  manifest(
    'AgentRole',
    'operator',
    "{inherits: [payer, approver], permissions: ['resource:write', 'token:write', 'grant:write', 'approval:override']}",
  ),
  manifest('AgentRole', 'base', "{permissions: ['resource:read']}"),
  manifest('AgentRole', 'governor', "{inherits: [base], permissions: ['governance:write']}"),
].join('---\n')

export async function startPeople(): Promise<People> {
  const h = await startHarness()
  const log: string[] = []
  let meanwhile: (() => Promise<unknown>) | undefined
  const write = { class: 'external-communication', determinism: 'side_effectful' } as const
  h.runtime.define(
    defineTool({
      name: 'transfer',
      version: '1.0.0',
      effect: {
        class: 'reversible-write',
        determinism: 'side_effectful',
        compensation: { operation: 'take-back', input_map: { amount: '/input/amount' } },
      },
      spec: { approval_triggers: [{ field: '/amount', op: 'gt', value: 100 }] },
      handler: (input) => ({ transferred: log.push(`transfer ${(input as { amount: number }).amount}`) }),
      operations: { 'take-back': { effect: write, handler: () => ({ back: log.push('take-back') }) } },
    }),
  )
  h.runtime.define(
    defineTool({
      name: 'flaky',
      version: '1.0.0',
      // A repeat under its key is harmless, so it is sent again.
      effect: {
        class: 'external-communication',
        determinism: 'idempotent',
        idempotency: { keyed: { retention: '1h' } },
      },
      spec: { runtime: { timeout: '10s', retry: { max_attempts: 3, backoff: '1ms', max_backoff: '2ms' } } },
      async handler() {
        log.push('attempt')
        const run = meanwhile
        meanwhile = undefined
        await run?.()
        if (run !== undefined) throw new ToolError('not now', { effect: 'none', retryable: true })
        return {}
      },
    }),
  )
  const people: People = {
    ...h,
    log,
    duringFirstAttempt(run) {
      meanwhile = run
    },
    async token(body) {
      const reply = await h.request('POST', '/v1/tokens', { body })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.token
    },
    apply: (body, token) =>
      h.request('POST', '/v1/apply', {
        body,
        headers: { 'content-type': 'application/yaml' },
        ...(token === undefined ? {} : { token }),
      }),
    async ask(token, input, envelope = {}) {
      const reply = await h.call('transfer', input, { token, envelope })
      assert.equal(reply.status, 202, reply.text)
      return {
        approval: reply.body.error.details.approval_id,
        call: String(reply.headers['writ-call-id']),
      }
    },
    decide: (approval, verb, token, body = {}) =>
      h.request('POST', `/v1/approvals/${approval}/${verb}`, { token, body }),
  }
  const applied = await people.apply(ROLES)
  if (applied.status !== 200) {
    await h.close()
    throw new Error(applied.text)
  }
  return people
}
