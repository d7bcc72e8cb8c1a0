// Makes the incidents of a plan happen: at their time, in their flush, at their send.
import type { Agenda } from './agenda.ts'
import type { FlushFault } from './disk.ts'
import type { History, Send } from './history.ts'
import type { Fail } from './invariant.ts'
import type { Wall } from './life.ts'
import type { Machine, Running } from './machine.ts'
import type { Incident } from './plan.ts'
import { manifestOf, SIM_TOOL_BY_NAME, VERSIONS } from './sim-tool.ts'

export interface IncidentOptions {
  readonly incidents: readonly Incident[]
  readonly agenda: Agenda
  readonly wall: Wall
  readonly machine: Machine
  readonly history: History
  readonly fail: Fail
  readonly count: (what: string) => void
  readonly log: (line: string) => void
}

export class Incidents {
  readonly #options: IncidentOptions
  readonly #upgraded = new Set<string>()

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

  faultOf(flush: number): FlushFault | undefined {
    const { incidents, count } = this.#options
    for (const incident of incidents) {
      if (!('flush' in incident) || incident.flush !== flush) continue
      count(`incident:${incident.kind === 'crash-in-flush' ? incident.when : incident.kind}`)
      return incident
    }
    return undefined
  }

  /** May be the end of the process: right before the first byte of a send leaves, or right after it. */
  onSend(send: Send, when: 'before' | 'after'): void {
    const { incidents, machine, count } = this.#options
    const hit = incidents.some(
      (one) => one.kind === 'crash-in-send' && one.send === send.number && one.when === when,
    )
    if (!hit) return
    count(`incident:crash-${when}-send`)
    machine.crash(`${when} send ${send.number}`, send.life)
  }

  #happen(incident: Extract<Incident, { readonly at: number }>): void {
    const { machine, wall, count, log } = this.#options
    if (incident.kind === 'upgrade') {
      this.#upgrade(incident.tool, incident.removesOld)
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
    }
  }

  #upgrade(name: string, removesOld: boolean): void {
    const { agenda, machine, fail, count } = this.#options
    const { running } = machine
    if (running === undefined || running.life.failedAt !== undefined) return
    // Two at once would be a conflict, and rightly so.
    if (this.#upgraded.has(name)) return
    this.#upgraded.add(name)
    count('incident:upgrade')
    agenda.after(0, running.life, `${name} is upgraded`, () => {
      this.#apply(running, name, removesOld).catch((error: unknown) => {
        const { failedAt, closing } = running.life
        if (failedAt === undefined && !closing) fail('no-bug', `the upgrade of ${name}: ${String(error)}`)
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
