// What a chaos run came to, and how it is printed.
import type { ClientCounts, Intent } from './careful-client.ts'
import { duplicates, type Effects } from './findings.ts'
import type { Incident, StoreKind } from './schedule.ts'
import { REPEATABLE, SETTLED_BY } from './tool-kind.ts'

export interface ChaosReport {
  readonly store: StoreKind
  readonly seed: string
  readonly seconds: number
  readonly incidents: readonly Incident[]
  readonly counts: ClientCounts
  readonly intents: readonly Intent[]
  readonly effects: Effects
  /** Intents that were unknown when everything had calmed down. */
  readonly unknown: ReadonlySet<string>
  /** The last of what each process has written. */
  readonly said: readonly { readonly name: string; readonly said: string }[]
  readonly ownEnds: readonly { readonly name: string; readonly code: number | null; readonly said: string }[]
  readonly findings: Readonly<Record<string, readonly string[]>>
  /** What evidence says about those that findings are about. */
  readonly evidence: readonly string[]
}

/** Findings of one kind that are printed in full. */
const SHOWN = 8

export function held(report: ChaosReport): boolean {
  return Object.values(report.findings).every((found) => found.length === 0)
}

export function countUnknowns(intents: readonly Intent[]): ReadonlySet<string> {
  return new Set(
    intents.filter(({ told }) => told.some(({ effect }) => effect === 'unknown')).map(({ id }) => id),
  )
}

export function render(report: ChaosReport): string {
  const { counts, intents, effects, incidents, ownEnds } = report
  const repeats = intents.filter(
    ({ id, tool }) => REPEATABLE.has(tool) && (effects.byIntent.get(id)?.length ?? 0) > 1,
  )
  const told = intents.reduce((sum, intent) => sum + intent.told.length, 0)
  const lines = [
    `chaos over ${report.store}, seed ${report.seed}, ${report.seconds.toFixed(0)} s`,
    `  intended effects   ${intents.length}, asked for ${counts.asked} times, ${counts.lost} connections lost, ${told} answers`,
    `  incidents          ${tally(incidents.map(({ kind, victim }) => `${kind} ${victim}`))}`,
    `  at the tool        ${effects.arrivals} requests, ${effects.count} effects`,
    `  duplicate effects  ${duplicates(intents, effects).length} (and ${repeats.length} harmless repeats of a natural tool)`,
    `  unknown            ${report.unknown.size}, settled by ${tally(unknowns(report)) || 'nobody: there were none'}`,
    ...(Object.keys(counts.actions).length === 0 ? [] : [`  actions            ${pairs(counts.actions)}`]),
    `  outcomes           ${tally(intents.map((intent) => intent.told.at(-1)?.state ?? 'no answer'))}`,
    ...(ownEnds.length === 0
      ? []
      : [`  ended by itself    ${tally(ownEnds.map(({ name, code }) => `${name} with ${code}`))}`]),
  ]
  for (const [what, found] of Object.entries(report.findings)) {
    lines.push(`  ${found.length === 0 ? 'ok  ' : 'FAIL'}  ${what}: ${found.length}`)
    lines.push(...found.slice(0, SHOWN).map((one) => `        ${one}`))
    if (found.length > SHOWN) lines.push(`        and ${found.length - SHOWN} more`)
  }
  if (!held(report)) {
    lines.push('  evidence of these:', ...report.evidence.map((line) => `        ${line}`))
    const said = [
      ...report.said,
      ...ownEnds.map(({ name, code, said }) => ({ name: `${name}, ended with ${code}`, said })),
    ]
    lines.push(
      ...said.flatMap(({ name, said }) => (said === '' ? [] : [`  ${name} said last:`, said.trimEnd()])),
    )
  }
  return lines.join('\n')
}

/** How each unknown was settled. */
function unknowns({ intents, unknown }: ChaosReport): readonly string[] {
  return intents
    .filter(({ id }) => unknown.has(id))
    .map((intent) =>
      intent.settledAs === undefined ? SETTLED_BY[intent.tool] : `a person as ${intent.settledAs}`,
    )
}

function tally(words: readonly string[]): string {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return pairs(counts)
}

function pairs(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([word, count]) => `${word} ${count}`)
    .join(', ')
}
