// Runtimes over one store, one life after another, with people who decide; a life that was killed does nothing any more.
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import type { Approval } from '../../src/contract/approval.ts'
import type { CallerIdentity } from '../../src/contract/caller.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime, createWorld, type StoreChoice } from '../../src/runtime.ts'
import type { ApprovalResult, CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { EVERYTHING, type SteeredTool, steeredTool, WRITE } from './harness.ts'
import { until } from './until.ts'

export const KINDS = ['memory', 'sqlite'] as const
export type Kind = (typeof KINDS)[number]

/** Nobody but people who may decide at all have to agree. */
export const ASKING = { ...WRITE, approval_triggers: [{ field: '/amount', op: 'gt', value: 100 }] }

export function payTool(spec: JsonObject = {}): SteeredTool {
  const tool = steeredTool('pay', { ...ASKING, ...spec })
  tool.behave(() => 'paid')
  return tool
}

const AGENT: CallerIdentity = { actor: 'agent-a', kind: 'agent', permissions: EVERYTHING }
const DECIDES = ['approval:read', 'approval:decide', 'grant:write']

export interface Life {
  readonly runtime: Runtime
  /** The one that asks. */
  readonly agent: CallerDoor
  readonly admin: CallerDoor
  as(identity: CallerIdentity): CallerDoor
  /** Somebody who may decide. */
  person(actor: string, roles?: readonly string[]): CallerDoor
  apply(...manifests: readonly JsonObject[]): Promise<void>
  kill(): void
}

export interface ApprovalPlace {
  open(tools: readonly Pick<SteeredTool, 'definition'>[]): Promise<Life>
  /** Moves the clock of every life on. */
  advance(ms: number): void
}

/** `together`: lives at the same time, as replicas are; only in memory. */
export function approvalPlace(t: TestContext, kind: Kind, together = false): ApprovalPlace {
  const real = createWorld()
  const data = createMemoryData()
  let path = join(folder(t), 'writ.db')
  let skew = 0
  let lives = 0
  const ends: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of ends) await end()
    await real.network.destroy()
  })

  /** A file as the death of its process would have left it. */
  function nextPath(): string {
    if (lives++ === 0) return path
    const next = join(folder(t), 'writ.db')
    for (const part of ['', '-wal', '-shm', '.audit-key.pem', '.audit-head.json']) {
      if (existsSync(path + part)) copyFileSync(path + part, next + part)
    }
    path = next
    return next
  }

  return {
    advance(ms) {
      skew += ms
    },
    async open(tools) {
      let dead: (() => void)[] | undefined
      const alive = (run: () => void) => () => {
        if (dead === undefined) run()
        else dead.push(run)
      }
      const world = {
        ...real,
        epoch: real.id(),
        clock: { now: () => real.clock.now() + skew, monotonic: () => real.clock.monotonic() },
        after: (ms: number, run: () => void) => real.after(ms, alive(run)),
        soon: (run: () => void) => real.soon(alive(run)),
      }
      const store: StoreChoice =
        kind === 'sqlite'
          ? { kind, path: nextPath() }
          : {
              kind: 'given',
              store: await createMemoryStore({ world, data, ...(together ? { leaseMs: 2_000 } : {}) }),
            }
      const runtime = await createRuntime({
        world,
        store,
        tools: tools.map(({ definition }) => definition),
        onWarning: () => {},
      })
      // Even one that was killed has threads and files to let go of.
      ends.push(() => {
        const waiting = dead ?? []
        dead = undefined
        for (const run of waiting) run()
        return runtime.close({ drainMs: 0 })
      })
      return {
        runtime,
        agent: runtime.as(AGENT),
        admin: runtime.as(createLocalAdmin()),
        as: (identity) => runtime.as(identity),
        person: (actor, roles = []) =>
          runtime.as({ actor, kind: 'person', roles, permissions: roles.length === 0 ? DECIDES : [] }),
        async apply(...manifests) {
          const text = manifests
            .map((one) => JSON.stringify({ apiVersion: 'writ.dev/v1', ...one }))
            .join('\n---\n')
          const applied = await runtime.resources.apply([{ text, file: 'x.yaml' }])
          assert.ok(applied.ok, JSON.stringify(applied.problems))
        },
        kill() {
          dead = []
        },
      }
    },
  }
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'writ-approval-'))
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
  return path
}

export const role = (name: string, permissions: readonly string[] = ['approval:read']): JsonObject => ({
  kind: 'AgentRole',
  metadata: { name },
  spec: { permissions },
})

/** The id that a pending answer carries. */
export function approvalIdOf(answer: Answer): string {
  assert.equal(answer.state, 'awaiting-approval', JSON.stringify(answer.failure))
  return String(answer.failure?.details.approval_id)
}

/** Asks for more than the agent may spend by itself. */
export async function ask(
  life: Life,
  input: JsonObject = { amount: 500 },
  key = 'k',
): Promise<{ readonly answer: Answer; readonly id: string }> {
  const answer = await life.agent.call({ tool: 'pay', input, idempotencyKey: key })
  return { answer, id: approvalIdOf(answer) }
}

export function ok(result: ApprovalResult): Approval {
  assert.equal(result.kind, 'ok', JSON.stringify(result))
  return (result as Extract<ApprovalResult, { kind: 'ok' }>).approval
}

export function refusal(result: { readonly kind: string }): string {
  return (result as { failure?: { id: string } }).failure?.id ?? result.kind
}

/** The call as it is once it has ended. */
export function endOf(life: Life, callId: string) {
  return until(async () => {
    const call = await life.agent.getCall(callId)
    return call?.answer?.final === true && call.answer
  })
}

/** What is on record, in order; of one call, or of all. */
export async function evidenceOf(life: Life, callId?: string) {
  await life.runtime.audit.head()
  let text = ''
  for await (const part of life.runtime.audit.export()) text += part
  const lines = text.split('\n').filter((line) => line !== '')
  return lines
    .map((line): EvidenceLine => JSON.parse(line))
    .filter((line) => line.body !== undefined && (callId === undefined || line.call_id === callId))
    .map(({ type, namespace = '', at = 0, body = '{}' }) => {
      return { type, namespace, at, body: JSON.parse(body) as JsonObject }
    })
}

interface EvidenceLine {
  readonly type: string
  readonly namespace?: string
  readonly call_id?: string
  readonly at?: number
  readonly body?: string
}
