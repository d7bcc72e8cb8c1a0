// People who decide about what waits for them (S45): they agree, refuse, let it expire, contradict each other in the same
// moment, decide twice, hand over, and try what they may not. Some agree beforehand, and take that back.
import type { Approval } from '../../src/contract/approval.ts'
import { PolicyUnavailable } from '../../src/governance/authority.ts'
import type { ApprovalResult, CallerDoor } from '../../src/runtime-api.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Agenda } from './agenda.ts'
import type { ApprovalRules } from './approval-rules.ts'
import { effectsOf, type SimCall } from './history.ts'
import type { Facts } from './invariant.ts'
import { nameOfCall } from './ledger-rules.ts'
import type { Machine, Running } from './machine.ts'
import type { GrantPlan } from './plan.ts'
import type { Random } from './random.ts'
import { SIM_TOOL_BY_NAME } from './sim-tool.ts'

export interface ApproverOptions {
  readonly agenda: Agenda
  readonly random: Random
  readonly machines: readonly Machine[]
  readonly facts: Facts
  readonly rules: ApprovalRules
  readonly count: (what: string) => void
  readonly log: (line: string) => void
}

const EVERY_MS = 700
const PERMISSIONS = ['approval:read', 'approval:decide', 'grant:write', 'tool:*:invoke']

export class Approvers {
  readonly #options: ApproverOptions
  #rounds = 0
  #acts = 0

  constructor(options: ApproverOptions) {
    this.#options = options
  }

  start(grants: readonly GrantPlan[]): void {
    const { agenda } = this.#options
    for (const grant of grants) {
      agenda.after(grant.at, undefined, 'somebody agrees beforehand', () => this.#grant(grant))
    }
    this.#next()
  }

  #next(): void {
    const { agenda, random } = this.#options
    agenda.after(EVERY_MS, undefined, 'approvers look', () => {
      this.#rounds++
      this.#act('tom', 'look', random.fork('round', this.#rounds), (door) => this.#look(door))
      this.#next()
    })
  }

  async #look(door: CallerDoor): Promise<void> {
    for (const approval of await door.listApprovals({ states: ['pending'], limit: 50 })) {
      const quorum = SIM_TOOL_BY_NAME.get(approval.binding.tool)?.approval?.quorum
      if (quorum !== undefined) this.#consider(approval, quorum)
    }
  }

  /** What becomes of it is up to it, not to who looks first. */
  #consider({ id, requester, expiresAt, createdAt }: Approval, quorum: number): void {
    const { random, agenda } = this.#options
    const mood = random.fork('mood', id).weighted({ agree: 8, refuse: 2, split: 2, ignore: 2, late: 2 })
    const dice = random.fork('consider', id, this.#rounds)
    if (mood === 'ignore' || !dice.chance(0.6)) return
    // At the very end of its time, or a little after it: then it is too late.
    const ends = Math.max(0, expiresAt - createdAt - 1_500)
    const at = mood === 'late' ? ends + dice.int(0, 1_500) : dice.pick([0, 0, dice.int(0, 60)])
    const agree = (actor: string) => this.#decide(actor, id, 'approved', at, dice)
    if (dice.chance(0.1)) this.#decide(requester, id, 'approved', at, dice)
    if (mood === 'refuse' || mood === 'split') this.#decide('tess', id, 'denied', at, dice)
    if (mood === 'refuse') return
    if (dice.chance(0.15)) this.#handOver(id, at, dice)
    else agree('tom')
    if (dice.chance(0.15)) agree('tom')
    if (mood !== 'split' && (quorum > 1 || dice.chance(0.2))) {
      if (dice.chance(0.7)) agree('tess')
      else agenda.after(dice.int(0, 2_000), undefined, 'tess thinks it over', () => agree('tess'))
    }
  }

  #decide(actor: string, id: string, decision: 'approved' | 'denied', ms: number, dice: Random): void {
    const { agenda, rules, facts, count, log } = this.#options
    agenda.after(ms, undefined, `${actor} decides`, () => {
      this.#act(actor, `${decision} ${id}`, dice, async (door) => {
        const own = (await door.getApproval(id))?.requester === actor
        rules.says(id, actor, decision)
        const result =
          decision === 'approved' ? await door.approve(id) : await door.deny(id, { reason: 'not now' })
        log(`${actor} said ${decision} about ${id}: ${wordOf(result)}`)
        count(`approver:${decision}-${wordOf(result)}`)
        if (result.kind !== 'ok') return
        if (own) facts.fail('approval', `${actor} decided about its own call: ${id}`)
        rules.heard(id, actor, decision)
      })
    })
  }

  #handOver(id: string, ms: number, dice: Random): void {
    const { agenda, count } = this.#options
    agenda.after(ms, undefined, 'tom hands over', () => {
      this.#act('tom', `hands over ${id}`, dice, async (door) => {
        const result = await door.delegate(id, { to: 'tim' })
        count(`approver:delegated-${wordOf(result)}`)
        this.#decide('tim', id, 'approved', dice.int(0, 400), dice)
      })
    })
  }

  #grant({ tool, ttlMs, maxUses, endMs }: GrantPlan): void {
    const { agenda, random, rules, count } = this.#options
    const dice = random.fork('grant', tool, this.#options.agenda.now)
    this.#act('tess', `grants ${tool}`, dice, async (door) => {
      const made = await door.makeGrant({ tool, ttlMs, maxUses })
      count(`approver:grant-${made.kind}`)
      if (made.kind !== 'ok') return
      rules.granted(made.grant.id, maxUses)
      if (endMs === undefined) return
      agenda.after(endMs, undefined, 'tess takes it back', () => {
        this.#act('tess', 'takes back', dice, async (again) => {
          count(`approver:grant-end-${(await again.endGrant(made.grant.id)).kind}`)
        })
      })
    })
  }

  /** On whichever replica answers; who gets no answer does not try again. */
  #act(actor: string, what: string, dice: Random, run: (door: CallerDoor) => Promise<void>): void {
    const { agenda, machines, facts, log } = this.#options
    const running = dice.fork(++this.#acts).pick(machines).running
    if (running === undefined || running.life.failedAt !== undefined || running.life.closing) return
    const { life, runtime } = running
    agenda.after(0, life, `${actor} ${what}`, () => {
      log(`${actor} asks ${life.name}: ${what}`)
      run(runtime.as({ actor, kind: 'person', permissions: PERMISSIONS })).catch((error: unknown) => {
        const away = error instanceof StoreUnavailable || error instanceof PolicyUnavailable
        if (away || life.dead) return
        facts.fail('no-bug', `${actor} ${what}: ${error instanceof Error ? error.stack : String(error)}`)
      })
    })
  }

  /** Everything is decided: whoever was told that its call waits finds out what became of it. */
  async lookAtEnd({ doors, life }: Running): Promise<void> {
    const { facts, agenda } = this.#options
    for (const call of facts.history.calls) {
      if (call.record.tool.approval === undefined || call.answer?.state !== 'awaiting-approval') continue
      const look = () => doors.get(call.ask.actor)?.getCall(call.id)
      let found = await look()
      // What is on disk is acknowledged a moment later.
      for (let times = 0; found?.state === 'running' && times < 10; times++) {
        await new Promise<void>((resolve) => agenda.after(100, life, 'looks again', resolve))
        found = await look()
      }
      if (life.dead) return
      if (found !== undefined) this.#checkEnd(call, found.answer?.final === true, found.state, found.effect)
      else if (!call.forgotten) facts.fail('outcome', `${nameOfCall(call)} is not found by its id`)
    }
  }

  #checkEnd(call: SimCall, final: boolean, state: string, effect: string | undefined): void {
    const { fail } = this.#options.facts
    const open = state === 'unknown' || state === 'reconciling'
    if (!final && !open)
      fail('settles', `${nameOfCall(call)} had to wait for people, and is ${state} at the end`)
    const effects = effectsOf(call.record).length
    if (state === 'succeeded' && effects !== 1) {
      fail('truth', `${nameOfCall(call)} is shown as done; the tool did it ${effects} times`)
    }
    if (state === 'denied' && effect === 'done') fail('truth', `${nameOfCall(call)} is denied, and done`)
  }
}

function wordOf(result: ApprovalResult): string {
  return result.kind === 'refused' ? result.failure.id : result.kind
}
