// Whom rules are about, as an index: a call looks up its own names instead of walking through all that name others.
import type { Targets } from '../resource/resolved-governance.ts'
import { isPattern, matchesName } from './name-pattern.ts'
import type { Facts } from './rules.ts'

export type Asked = Pick<Facts, 'caller' | 'agent' | 'taskId'>

export interface Targeted<T> {
  /** About everybody. */
  readonly global: readonly T[]
  /**
   * About this very caller because it is named; each once, in the order of their declaration. The very same list for all
   * callers that the same ones name, so that what is made of it can be kept.
   */
  scoped(asked: Asked): readonly T[]
}

/** One name that it has in common with the call is enough. A scoped rule without names is about nobody. */
export function isTarget(targets: Targets, { caller, agent, taskId }: Asked): boolean {
  if (targets.applyMode === 'global') return true
  const named = (patterns: readonly string[], name: string | undefined) =>
    name !== undefined && patterns.some((pattern) => matchesName(pattern, name))
  return (
    named(targets.agents, caller.actor) ||
    named(targets.agents, agent) ||
    named(targets.systems, caller.system) ||
    named(targets.tasks, taskId)
  )
}

const NOBODY: readonly never[] = Object.freeze([])

export function indexTargets<T>(items: readonly T[], targetsOf: (item: T) => Targets): Targeted<T> {
  const global: T[] = []
  const byPattern: number[] = []
  const byName = new Map<string, number[]>()
  items.forEach((item, at) => {
    const targets = targetsOf(item)
    if (targets.applyMode === 'global') {
      global.push(item)
      return
    }
    for (const [kind, names] of [
      ['agent', targets.agents],
      ['system', targets.systems],
      ['task', targets.tasks],
    ] as const) {
      for (const name of names) {
        if (isPattern(name)) byPattern.push(at)
        else byName.set(`${kind}:${name}`, [...(byName.get(`${kind}:${name}`) ?? []), at])
      }
    }
  })
  const lists = createMemory<readonly T[]>()
  const byAsked = createMemory<readonly T[]>()

  function lookUp(asked: Asked): readonly T[] {
    const found = new Set<number>()
    const look = (key: string) => {
      for (const at of byName.get(key) ?? []) found.add(at)
    }
    look(`agent:${asked.caller.actor}`)
    if (asked.agent !== undefined) look(`agent:${asked.agent}`)
    if (asked.caller.system !== undefined) look(`system:${asked.caller.system}`)
    if (asked.taskId !== undefined) look(`task:${asked.taskId}`)
    for (const at of byPattern) if (isTarget(targetsOf(items[at] as T), asked)) found.add(at)
    if (found.size === 0) return NOBODY
    const positions = [...found].sort((one, other) => one - other)
    return lists(positions.join(), () => positions.map((at) => items[at] as T))
  }

  if (byPattern.length === 0 && byName.size === 0) return { global, scoped: () => NOBODY }
  return {
    global,
    scoped: (asked) => byAsked(namesIn(asked), () => lookUp(asked)),
  }
}

/** As JSON: a name may hold anything, and must not pass for two others. */
function namesIn({ caller, agent, taskId }: Asked): string {
  return JSON.stringify([caller.actor, agent, caller.system, taskId])
}

/** So that a stream of ever new names does not fill the memory. */
const MAX_REMEMBERED = 1_000

function createMemory<V>(): (key: string, make: () => V) => V {
  const known = new Map<string, V>()
  return (key, make) => {
    const before = known.get(key)
    if (before !== undefined) return before
    if (known.size >= MAX_REMEMBERED) known.clear()
    const made = make()
    known.set(key, made)
    return made
  }
}
