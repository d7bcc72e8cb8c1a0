// Makes the incidents of a plan happen: at their time, in their flush, at their send.
import type { Agenda } from './agenda.ts'
import type { FlushFault } from './disk.ts'
import type { History, Send } from './history.ts'
import type { Fail } from './invariant.ts'
import type { Life, Wall } from './life.ts'
import type { Machine, Running } from './machine.ts'
import type { Incident } from './plan.ts'
import { manifestOf, SIM_TOOL_BY_NAME, VERSIONS } from './sim-tool.ts'

export interface IncidentOptions {
  readonly incidents: readonly Incident[]
  readonly agenda: Agenda
  readonly walls: readonly Wall[]
  readonly machines: readonly Machine[]
  readonly history: History
  readonly fail: Fail
  /** A rule about a tool is about to change; gives back whom to tell that a life knows of it. */
  readonly onPolicy: (tool: string, decision: 'require-approval' | 'deny') => (life: Life) => void
  readonly count: (what: string) => void
  readonly log: (line: string) => void
}

export class Incidents {
  readonly #options: IncidentOptions
  readonly #upgraded = new Set<string>()
  readonly #states = new Map<string, number>()
  #over = false

  constructor(options: IncidentOptions) {
    this.#options = options
  }

  /** Those that have a time. */
  schedule(): void {
    const { agenda, incidents } = this.#options
    for (const incident of incidents) {
      if (!('at' in incident)) continue
      agenda.after(incident.at, undefined, incident.kind, () => this.#happen(incident))
    }
  }

  /** From now on nothing happens any more. */
  stop(): void {
    this.#over = true
  }

  /** An entry has come into this state, by the hand of this life. */
  onState(state: string, life: Life): void {
    const nth = (this.#states.get(state) ?? 0) + 1
    this.#states.set(state, nth)
    const { agenda, incidents, machines, count } = this.#options
    const hit = incidents.some(
      (one) => one.kind === 'crash-in-state' && one.state === state && one.nth === nth && !this.#over,
    )
    if (!hit) return
    count(`incident:crash-${state}`)
    // Right away, or while what follows from it is under way.
    const ms = (agenda.ran * 37) % 400
    agenda.after(ms, life, `${life.name} dies`, () => machines[life.replica]?.crash(`after ${state}`, life))
  }

  faultOf(flush: number): FlushFault | undefined {
    const { incidents, count } = this.#options
    if (this.#over) return undefined
    for (const incident of incidents) {
      if (!('flush' in incident) || incident.flush !== flush) continue
      count(`incident:${incident.kind === 'crash-in-flush' ? incident.when : incident.kind}`)
      return incident
    }
    return undefined
  }

  /** A request is handed to the network: the process may be held in that very moment. */
  onDispatch(send: Send): void {
    const { incidents, machines, count } = this.#options
    for (const one of incidents) {
      if (one.kind !== 'pause-in-send' || one.send !== send.number || this.#over) continue
      count('incident:pause-in-send')
      machines[send.life.replica]?.pause(one.ms, send.life)
    }
  }

  /** May be the end of the process: right before the first byte of a send leaves, or right after it. */
  onSend(send: Send, when: 'before' | 'after'): void {
    const { incidents, machines, count } = this.#options
    const hit =
      !this.#over &&
      incidents.some((one) => one.kind === 'crash-in-send' && one.send === send.number && one.when === when)
    if (!hit) return
    count(`incident:crash-${when}-send`)
    machines[send.life.replica]?.crash(`${when} send ${send.number}`, send.life)
  }

  #happen(incident: Extract<Incident, { readonly at: number }>): void {
    const { machines, walls, count, log } = this.#options
    const machine = machines[incident.replica ?? 0]
    const wall = walls[incident.replica ?? 0]
    if (machine === undefined || wall === undefined || this.#over) return
    if (incident.kind === 'upgrade') {
      this.#upgrade(machine, incident.tool, incident.removesOld)
      return
    }
    if (incident.kind === 'policy') {
      this.#changePolicy(machine, incident.tool, incident.decision)
      return
    }
    count(`incident:${incident.kind}`)
    switch (incident.kind) {
      case 'crash':
        machine.crash('it was killed')
        break
      case 'pause':
        machine.pause(incident.ms)
        break
      case 'restart':
        machine.restart(incident.drainMs)
        break
      case 'wall-set':
        log(`the wall clock is set ${incident.offsetMs} ms off`)
        wall.offsetMs = incident.offsetMs
        break
      case 'partition':
        machine.partition(incident.ms)
        break
    }
  }

  #changePolicy(machine: Machine, tool: string, decision: 'require-approval' | 'deny'): void {
    const { agenda, fail, count, onPolicy } = this.#options
    const { running } = machine
    if (running === undefined || running.life.failedAt !== undefined) return
    const { life, runtime } = running
    agenda.after(0, life, `another policy for ${tool}`, () => {
      count('incident:policy')
      const known = onPolicy(tool, decision)
      const text = JSON.stringify({
        apiVersion: 'writ.dev/v1',
        kind: 'AgentPolicy',
        metadata: { name: `about-${tool}` },
        spec: { apply_mode: 'global', rules: [{ tools: [tool], decision, reason: 'another rule' }] },
      })
      runtime.resources.apply([{ file: 'policy.json', text }]).then(
        ({ ok, problems }) => {
          if (ok) known(life)
          else fail('no-bug', `the policy for ${tool} is refused: ${JSON.stringify(problems)}`)
        },
        (error: unknown) => {
          const { failedAt, closing, awayUntil } = life
          if (failedAt === undefined && !closing && awayUntil === 0)
            fail('no-bug', `the policy for ${tool}: ${String(error)}`)
        },
      )
    })
  }

  #upgrade(machine: Machine, name: string, removesOld: boolean): void {
    const { agenda, fail, count } = this.#options
    const { running } = machine
    if (running === undefined || running.life.failedAt !== undefined) return
    // Two at once would be a conflict, and rightly so.
    if (this.#upgraded.has(name)) return
    this.#upgraded.add(name)
    count('incident:upgrade')
    this.#options.history.upgraded.add(name)
    agenda.after(0, running.life, `${name} is upgraded`, () => {
      this.#apply(running, name, removesOld).catch((error: unknown) => {
        const { failedAt, closing, awayUntil } = running.life
        if (failedAt === undefined && !closing && awayUntil === 0)
          fail('no-bug', `the upgrade of ${name}: ${String(error)}`)
      })
    })
  }

  async #apply({ runtime: { resources } }: Running, name: string, removesOld: boolean): Promise<void> {
    const tool = SIM_TOOL_BY_NAME.get(name)
    if (tool === undefined) throw new Error(`no such tool: ${name}`)
    const source = { file: `${name}.json`, text: JSON.stringify(manifestOf(tool, VERSIONS[1])) }
    const { ok, problems } = await resources.apply([source])
    if (!ok) throw new Error(`refused: ${JSON.stringify(problems)}`)
    if (!removesOld) return
    this.#options.history.removed.add(name)
    await resources.delete({ namespace: 'default', kind: 'Tool', name, version: VERSIONS[0] })
  }
}
