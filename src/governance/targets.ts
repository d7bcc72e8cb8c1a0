// Whom rules are about, as an index: a call looks up its own names instead of walking through all that name others.
import type { Targets } from '../resource/resolved-governance.ts'
import { isPattern, matchesName } from './name-pattern.ts'
import type { Facts } from './rules.ts'

export type Asked = Pick<Facts, 'caller' | 'agent' | 'taskId'>

export interface Targeted<T> {
  /** About everybody. */
  readonly global: readonly T[]
  /** About this very caller because it is named; each once, in the order of their declaration. */
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
  const isScoped = byPattern.length > 0 || byName.size > 0
  return {
    global,
    scoped(asked) {
      if (!isScoped) return NOBODY
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
      return [...found].sort((one, other) => one - other).map((at) => items[at] as T)
    },
  }
}
