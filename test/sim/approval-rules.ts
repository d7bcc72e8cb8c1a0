// What must be true of everything that people have to agree to, told from the batches and from what the tools received:
// nothing is sent without an approval for this very thing, and each approval is used once (S45).
import type { Approval } from '../../src/contract/approval.ts'
import type { StoreReads } from '../../src/store/assemble-store.ts'
import type { Batch, EncodedResult, EncodedWrite } from '../../src/store/sqlite/codec.ts'
import type { EvidenceLink } from '../../src/store/store.ts'
import { sha256Hex } from '../../src/util/canonical.ts'
import type { JsonObject } from '../../src/util/json.ts'
import type { KeyRecord, Run, Send } from './history.ts'
import { EPSILON, type Facts } from './invariant.ts'
import { nameOf } from './ledger-rules.ts'
import { BEGIN, type Life } from './life.ts'
import { describe } from './send-rules.ts'
import { pathOf, SIM_TOOL_BY_NAME } from './sim-tool.ts'

type State = Approval['state']

/** The moves of a question, written out once more. */
const MOVES: Readonly<Record<State, readonly State[]>> = {
  pending: ['pending', 'approved', 'denied', 'expired', 'stale', 'canceled'],
  approved: ['used', 'expired', 'stale', 'canceled'],
  used: [],
  denied: [],
  expired: [],
  stale: [],
  canceled: [],
}

/** An approved call is on its way by then, where nothing is in its way. */
const GOES_ON_MS = 2_000

interface Question {
  readonly first: Approval
  readonly record: KeyRecord | undefined
  /** When its time is over, by the clock of the database. */
  readonly dueAt: number
  now: Approval
  approvedAt: number
}

interface Grant {
  readonly maxUses: number
  /** What happened by it. What came to nothing gives its use back. */
  readonly effects: Set<KeyRecord>
}

interface Policy {
  readonly tool: string
  readonly decision: 'require-approval' | 'deny'
  /** Versions by which people had been asked before anybody began to change it. */
  readonly before: ReadonlySet<string>
  committedAt: number | undefined
  readonly knownBy: Map<Life, number>
}

/** What people really said, whether anybody heard it or not. */
type Said = 'approved' | 'denied'

export class ApprovalRules {
  readonly #facts: Facts
  readonly #onState: (state: State) => void
  readonly #quiet: boolean
  readonly #questions = new Map<string, Question>()
  readonly #said = new Map<string, Set<string>>()
  readonly #grants = new Map<string, Grant>()
  readonly #policies: Policy[] = []
  readonly #states = new Map<string, string>()
  /** By what a key is being sent. */
  readonly #authority = new Map<KeyRecord, Question | Grant>()
  readonly #denied = new Set<KeyRecord>()

  /** `quiet`: nothing goes wrong in this run. */
  constructor(facts: Facts, onState: (state: State) => void, quiet: boolean) {
    this.#facts = facts
    this.#onState = onState
    this.#quiet = quiet
  }

  /** Somebody is about to say this: from here on it may be on disk. */
  says(id: string, actor: string, decision: Said): void {
    const said = this.#said.get(id) ?? new Set()
    this.#said.set(id, said.add(`${actor} ${decision}`))
  }

  /** Somebody was told that their decision counts. */
  heard(id: string, actor: string, decision: Said): void {
    const kept = this.#questions.get(id)?.now.decisions ?? []
    if (!kept.some((one) => one.by === actor && one.decision === decision)) {
      this.#facts.fail(
        'approval',
        `${actor} was told that it is ${decision}: ${id}; nothing of it is on disk`,
      )
    }
  }

  granted(id: string, maxUses: number): void {
    if (!this.#grants.has(id)) this.#grants.set(id, { maxUses, effects: new Set() })
  }

  /** A rule is about to be changed. Gives back what to call when a life knows of it. */
  onPolicy(tool: string, decision: Policy['decision']): (life: Life) => void {
    const asked = [...this.#questions.values()].filter(({ first }) => first.binding.tool === tool)
    const before = new Set(asked.map(({ first }) => first.binding.policyVersion))
    const policy: Policy = { tool, decision, before, committedAt: undefined, knownBy: new Map() }
    this.#policies.push(policy)
    return (life) => {
      policy.committedAt ??= this.#facts.agenda.now
      policy.knownBy.set(life, this.#facts.agenda.now)
    }
  }

  onCommit(life: Life, batch: Batch, results: readonly EncodedResult[]): void {
    for (const [index, op] of batch.ops.entries()) {
      if (op[0] === 'write' && results[index] === 0) this.#write(life, batch, op)
    }
  }

  #write(life: Life, batch: Batch, op: EncodedWrite): void {
    const [, entry, , evidence, rest] = op
    const [kind, row] = rest?.approval ?? []
    const written = row && ({ ...JSON.parse(String(row[7])), state: row[2] } as Approval)
    const timer = rest?.timers.find((one) => one[0] === 'approval')
    if (written !== undefined) this.#change(written, kind === 'insert', batch.at, Number(timer?.[2] ?? 0))
    if (entry === null) {
      if (written?.state === 'used') this.#fail(`approval ${written.id} is used up for nothing`)
      return
    }
    const [scope, key, path] =
      entry[0] === 'insert'
        ? [String(entry[1][1]), String(entry[1][2]), [String(entry[1][4])]]
        : [entry[1], entry[2], entry[4]]
    const name = `${scope} ${key}`
    const before = this.#states.get(name)
    const tool = SIM_TOOL_BY_NAME.get(String((JSON.parse(scope) as unknown[])[2]))
    if (tool?.approval === undefined) return
    this.#states.set(name, path.at(-1) ?? before ?? '')
    if (!path.includes('intended')) {
      if (written?.state === 'used') this.#fail(`approval ${written.id} is used up, and nothing is intended`)
      return
    }
    const callId = String(evidence[0]?.[1] ?? '')
    const record = this.#facts.history.callOfId(callId)?.record
    if (record === undefined) {
      this.#fail(`an intent of ${tool.name} for call ${callId}, which nobody made`)
      return
    }
    if (written?.state === 'used') this.#use(life, record, written, evidence)
    else this.#intendWithout(life, record, before, evidence)
  }

  #change(next: Approval, inserted: boolean, at: number, ttlMs: number): void {
    const known = this.#questions.get(next.id)
    if (inserted || known === undefined) {
      if (known !== undefined || next.state !== 'pending' || next.decisions.length > 0) {
        this.#fail(`approval ${next.id} begins as ${next.state}`)
      }
      const record = this.#facts.history.callOfId(next.callId)?.record
      const approvedAt = Number.POSITIVE_INFINITY
      this.#questions.set(next.id, { first: next, record, dueAt: at + ttlMs, now: next, approvedAt })
      this.#onState('pending')
      return
    }
    const { first, now, record } = known
    if (!MOVES[now.state].includes(next.state)) {
      this.#fail(`approval ${next.id} went from ${now.state} to ${next.state}`)
    }
    for (const part of ['binding', 'needs', 'requester', 'entryId', 'expiresAt'] as const) {
      if (JSON.stringify(first[part]) !== JSON.stringify(next[part])) {
        this.#fail(`approval ${next.id} is for another ${part} than it was asked for`)
      }
    }
    this.#checkDecisions(next, now)
    if (now.state === 'pending' && next.state === 'expired' && at < known.dueAt - EPSILON) {
      this.#fail(`approval ${next.id} expired ${known.dueAt - at} ms before its time`)
    }
    // Whoever agrees in time has it done: it goes on by itself.
    if (this.#quiet && now.state === 'approved' && next.state === 'expired') {
      const left = known.dueAt - BEGIN - known.approvedAt
      if (left > GOES_ON_MS) this.#fail(`approval ${next.id} expired; it was approved ${left} ms before`)
    }
    if (next.state === 'approved') known.approvedAt = this.#facts.agenda.now
    if (next.state === 'denied' && record !== undefined) this.#denied.add(record)
    if (next.state !== now.state) this.#onState(next.state)
    known.now = next
  }

  /** Each was really made, by somebody who may; together they are what the state says. */
  #checkDecisions(next: Approval, before: Approval): void {
    const { id, decisions, requester, binding, state } = next
    if (decisions.length < before.decisions.length) this.#fail(`a decision about ${id} is gone`)
    for (const { by, decision } of decisions) {
      if (by === requester) this.#fail(`${by} decided about what it had asked for itself: ${id}`)
      if (this.#said.get(id)?.has(`${by} ${decision}`) !== true)
        this.#fail(`${id} is ${decision} by ${by}, who never said so`)
    }
    const denials = decisions.filter(({ decision }) => decision === 'denied').length
    const people = new Set(decisions.map(({ by }) => by)).size
    const quorum = SIM_TOOL_BY_NAME.get(binding.tool)?.approval?.quorum ?? 1
    if (state === 'approved' && (denials > 0 || people < quorum)) {
      this.#fail(`${id} is approved; ${people} of ${quorum} people decided, ${denials} refused`)
    }
    if (state === 'denied' && denials === 0) this.#fail(`${id} is denied by nobody`)
  }

  #use(life: Life, record: KeyRecord, { id, entryId }: Approval, evidence: EncodedWrite[3]): void {
    const question = this.#questions.get(id)
    if (question === undefined) return
    if (question.record !== record) this.#fail(`approval ${id} is used for ${nameOf(record)}`)
    const said = bodiesOf(evidence, 'approval.used')
    if (said.length !== 1 || said[0]?.approval_id !== id || said[0]?.entry_id !== entryId) {
      this.#fail(`approval ${id} is used, and the evidence says ${JSON.stringify(said)}`)
    }
    for (const policy of this.#policies) {
      const { tool, policyVersion } = question.first.binding
      const knew = knownSince(policy, life)
      // It knew of the other rule when the last one agreed: what follows from that is decided by the other rule.
      if (policy.tool !== tool || knew === undefined || knew > question.approvedAt - EPSILON) continue
      const is = policy.decision === 'deny' ? 'is forbidden by now' : 'was agreed to under another policy'
      if (policy.decision === 'deny' || policy.before.has(policyVersion)) {
        this.#fail(`approval ${id} is used by ${life.name}: ${nameOf(record)} ${is}`)
      }
    }
    this.#authority.set(record, question)
  }

  /** By a grant; or what was agreed to may have had its effect, and is sent once more: that is the same thing. */
  #intendWithout(life: Life, record: KeyRecord, before: string | undefined, evidence: EncodedWrite[3]): void {
    const [use] = bodiesOf(evidence, 'grant.used')
    if (use === undefined) {
      const again = before === 'unknown' || before === 'reconciling'
      if (again && isQuestion(this.#authority.get(record))) return
      // What is stopped before anybody was asked is put on record, too; it must not be sent.
      const stopped = life.closing || record.calls.some(({ canceledAt }) => canceledAt !== undefined)
      if (stopped) this.#authority.delete(record)
      else this.#fail(`${nameOf(record)} is intended from ${before ?? 'nothing'}, and nobody agreed`)
      return
    }
    const grant = this.#grants.get(String(use.grant_id))
    if (grant === undefined) {
      this.#fail(`${nameOf(record)} uses grant ${use.grant_id}, which nobody made`)
      return
    }
    const quorum = record.tool.approval?.quorum ?? 1
    if (quorum > 1) this.#fail(`${nameOf(record)} needs ${quorum} people; one had granted it`)
    this.#authority.set(record, grant)
  }

  /** What leaves is what people were shown. */
  onSent(send: Send): void {
    const { record, tool } = send
    if (tool.approval === undefined || send.kind !== 'call') return
    if (this.#denied.has(record)) this.#fail(`${describe(send)} leaves; it was denied`)
    if (!this.#authority.has(record)) {
      this.#fail(`${describe(send)} leaves; nobody agreed to it`)
      return
    }
    const authority = this.#authority.get(record)
    if (!isQuestion(authority)) return
    const { binding } = authority.first
    const hash = sha256Hex(send.body)
    if (hash !== binding.payloadHash)
      this.#fail(`${describe(send)} sends ${send.body}, which nobody was shown`)
    if (send.path !== pathOf(tool.name, binding.version)) {
      this.#fail(`${describe(send)} goes to ${send.path}; ${binding.version} was agreed to`)
    }
  }

  onRun({ send: { record }, changed }: Run): void {
    const authority = this.#authority.get(record)
    if (!changed || authority === undefined || isQuestion(authority)) return
    const { effects, maxUses } = authority
    if (effects.add(record).size > maxUses) {
      this.#fail(`${nameOf(record)} is effect ${effects.size} of a grant for ${maxUses}`)
    }
  }

  /** The run is over: all is decided, and the evidence says so. */
  checkEnd(evidence: StoreReads['evidence']): void {
    const records = (evidence.epochs() as readonly string[])
      .flatMap((epoch) => evidence.links(epoch, 1, 1_000_000) as readonly EvidenceLink[])
      .flatMap((link) => link.records)
    const told = new Map<string, string[]>()
    for (const { type, body } of records) {
      if (!type.startsWith('approval.')) continue
      const id = String(body.approval_id)
      const about = told.get(id) ?? []
      told.set(id, about)
      about.push(type)
    }
    for (const [id, { now }] of this.#questions) {
      const about = told.get(id) ?? []
      const times = (type: string) => about.filter((one) => one === type).length
      const { state, decisions } = now
      const wanted: Readonly<Record<string, number>> = {
        'approval.requested': 1,
        'approval.decided': decisions.length,
        'approval.used': state === 'used' ? 1 : 0,
        'approval.expired': state === 'expired' ? 1 : 0,
        'approval.stale': state === 'stale' ? 1 : 0,
        'approval.canceled': state === 'canceled' ? 1 : 0,
      }
      for (const [type, count] of Object.entries(wanted)) {
        if (times(type) !== count)
          this.#fail(`approval ${id} is ${state}; the evidence has ${times(type)} times ${type}`)
      }
    }
  }

  #fail(message: string): void {
    this.#facts.fail('approval', message)
  }
}

function isQuestion(authority: Question | Grant | undefined): authority is Question {
  return authority !== undefined && 'first' in authority
}

/** A life that began after it was written read it then. */
function knownSince({ knownBy, committedAt }: Policy, life: Life): number | undefined {
  const born = committedAt !== undefined && life.bornAt > committedAt ? life.bornAt : undefined
  return knownBy.get(life) ?? born
}

function bodiesOf(evidence: EncodedWrite[3], type: string): JsonObject[] {
  return evidence.filter((row) => row[2] === type).map((row) => JSON.parse(String(row[4])) as JsonObject)
}
